import type { PlainResponse, Router } from "../../core/http/router.ts";
import { invalidRequest, type Refusal, serviceUnavailable } from "../../core/refusal.ts";
import { wires } from "../../core/wire/index.ts";
import type { TokenCounter } from "./token-counter.ts";

/** `POST /v1/messages/count_tokens`: an estimate of the input, free of charge. */
export function addCountTokensRoute(
  router: Router,
  counter: TokenCounter,
  bodyBytesMax: number,
): void {
  router.add({
    method: "POST",
    path: "/v1/messages/count_tokens",
    access: "key",
    bodyBytesMax,
    handler: async (request) => {
      const count = await counter.count(request.body);
      if (count.kind === "counted") return answer(200, { input_tokens: count.tokens });
      const refusal =
        count.kind === "invalid"
          ? invalidRequest(count.problem, count.param)
          : serviceUnavailable("Tokens cannot be counted at the moment; try again shortly.");
      return refused(refusal, request.requestId);
    },
  });
}

function answer(status: number, body: object): PlainResponse {
  return { status, headers: ["content-type", "application/json"], body: JSON.stringify(body) };
}

function refused(refusal: Refusal, requestId: string): PlainResponse {
  const body = wires.messages.errorBody(refusal, requestId);
  const headers = ["content-type", "application/json", ...refusal.headers];
  return { status: refusal.status, headers, body };
}
