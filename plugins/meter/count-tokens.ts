import {
  isRefusal,
  messagesEndpoint,
  type PlainResponse,
  type Refusal,
  type Router,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import type { Count, TokenCounter } from "./token-counter.ts";

/** `POST /v1/messages/count_tokens`: an estimate of the input, free of charge; its model is named as a call's is. */
export function addCountTokensRoute(
  router: Router,
  counter: TokenCounter,
  services: Services,
): void {
  const { messages } = services.wires;
  const refused = (refusal: Refusal, requestId: string): PlainResponse => {
    const headers = ["content-type", "application/json", ...refusal.headers];
    return { status: refusal.status, headers, body: messages.errorBody(refusal, requestId) };
  };
  router.add({
    method: "POST",
    path: "/v1/messages/count_tokens",
    access: "key",
    bodyBytesMax: services.config.limits.bodyBytesMax,
    handler: async ({ body, requestId, keyId = "" }) => {
      const count = await counter.count(keyId, body);
      if (count.kind !== "counted") return refused(refusalOf(count), requestId);
      const named = services.modelNames.resolve(count.model, messagesEndpoint);
      if (isRefusal(named)) return refused(named, requestId);
      return answer(200, { input_tokens: count.tokens }, named.headers);
    },
  });
}

function refusalOf(count: Exclude<Count, { kind: "counted" }>): Refusal {
  switch (count.kind) {
    case "invalid":
      return refuse.badRequest(count.problem, count.param);
    case "too_many":
      return refuse.rateLimited(
        "Too many requests of this key wait to have their tokens counted; try again shortly.",
        { code: "rate_limit_exceeded", headers: ["retry-after", "1"] },
      );
    case "busy":
      return refuse.unavailable("Tokens cannot be counted at the moment; try again shortly.");
  }
}

function answer(status: number, body: object, headers: readonly string[]): PlainResponse {
  const all = ["content-type", "application/json", ...headers];
  return { status, headers: all, body: JSON.stringify(body) };
}
