import {
  isRefusal,
  type Refusal,
  type Router,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { PublishedCounts } from "./published.ts";
import type { Count, TokenCounter } from "./token-counter.ts";

/** The models that clients of Messages may name. */
const MESSAGES = { protocol: "messages", serves: ["messages", "chat"] } as const;

/**
 * Adds `POST /v1/messages/count_tokens`, which counts input tokens free of charge, as the model's
 * provider does. Resolves model names as calls do.
 */
export function addCountTokensRoute(
  router: Router,
  counter: TokenCounter,
  services: Services,
): void {
  const published = new PublishedCounts(services.upstreams);
  router.addRoute({
    method: "POST",
    path: "/v1/messages/count_tokens",
    access: "key",
    bodyBytesMax: services.config.limits.bodyBytesMax,
    handler: async ({ body, keyId = "" }) => {
      const count = await counter.count(keyId, body);
      if (count.kind !== "counted") return refusalOf(count);
      const named = services.modelNames.current.resolve(count.model, MESSAGES);
      if (isRefusal(named)) return named;
      const headers = ["content-type", "application/json", ...named.headers];
      const input_tokens = published.inputTokens(count.input, named.model);
      return { status: 200, headers, body: JSON.stringify({ input_tokens }) };
    },
  });
}

function refusalOf(count: Exclude<Count, { kind: "counted" }>): Refusal {
  switch (count.kind) {
    case "invalid":
      return refuse.badRequest(count.problem, count.param);
    case "too_many":
      return refuse.rateLimited(
        "Too many token counts of this key are waiting; try again shortly.",
        { code: "rate_limit_exceeded", headers: ["retry-after", "1"] },
      );
    case "busy":
      return refuse.unavailable("Tokens cannot be counted right now; try again shortly.");
  }
}
