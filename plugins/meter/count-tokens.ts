import {
  isRefusal,
  messagesEndpoint,
  type Refusal,
  type Router,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import type { Count, TokenCounter } from "./token-counter.ts";

/** Adds `POST /v1/messages/count_tokens`, which counts input tokens free of charge. Resolves model names as calls do. */
export function addCountTokensRoute(
  router: Router,
  counter: TokenCounter,
  services: Services,
): void {
  router.add({
    method: "POST",
    path: "/v1/messages/count_tokens",
    access: "key",
    bodyBytesMax: services.config.limits.bodyBytesMax,
    handler: async ({ body, keyId = "" }) => {
      const count = await counter.count(keyId, body);
      if (count.kind !== "counted") return refusalOf(count);
      const named = services.modelNames.current.resolve(count.model, messagesEndpoint);
      if (isRefusal(named)) return named;
      const headers = ["content-type", "application/json", ...named.headers];
      return { status: 200, headers, body: JSON.stringify({ input_tokens: count.tokens }) };
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
