import type { Call, Outcome } from "../plugin/call.ts";
import { type RefusalType, refuse } from "../wire/refusal.ts";

const REFUSED_AS: Readonly<Record<number, RefusalType>> = {
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
};

/**
 * Passes on the status of a refusal whose body is not JSON, such as a page of a proxy, without its
 * body.
 */
export function refusedUnreadably(status: number, retryAfter: string | undefined): Outcome {
  const type = REFUSED_AS[status] ?? "invalid_request_error";
  const message = `The upstream provider refused the call with HTTP ${status}.`;
  const headers = retryAfter === undefined ? [] : ["retry-after", retryAfter];
  const refusal = refuse.as(status, type, message, { headers });
  return { kind: "broken", refusal, truncated: false, errorSent: false };
}

/**
 * Returns the refusal for a provider that is overloaded; undefined for another status. Each
 * protocol has its own status for it, and agents wait longer then than after a failure.
 */
export function overloaded(
  status: number,
  { endpoint }: Pick<Call, "endpoint">,
  retryAfter: string | undefined,
): Outcome | undefined {
  if (status !== 503 && status !== 529) return undefined;
  const message =
    "The model's upstream provider is overloaded: try again later. Nothing was charged.";
  const headers = retryAfter === undefined ? [] : ["retry-after", retryAfter];
  const own = endpoint.protocol === "messages" ? 529 : 503;
  const refusal = refuse.as(own, "overloaded_error", message, { code: "overloaded", headers });
  return { kind: "broken", refusal, truncated: false, errorSent: false };
}

/**
 * Returns the outcome for an upstream that is unreachable, or that failed after it got the request.
 */
export function broken(message: string): Outcome & { kind: "broken" } {
  const refusal = refuse.upstreamFailed(message);
  return { kind: "broken", refusal, truncated: false, errorSent: false };
}

/**
 * Returns the outcome for an upstream that accepted a stream, and then sent nothing for `seconds`.
 */
export function tooSlow(seconds: number, hasBegun: boolean): Outcome {
  const message = hasBegun
    ? `The model's upstream provider is too slow: it sent nothing for ${seconds} seconds in the middle of its reply.`
    : `The model's upstream provider is too slow: it did not begin to reply within ${seconds} seconds. Nothing was charged.`;
  const refusal = refuse.timedOut(message);
  return { kind: "broken", refusal, truncated: false, errorSent: false };
}
