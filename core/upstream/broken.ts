import { brokenBy, type Call, type Outcome } from "../plugin/call.ts";
import { type RefusalType, refuse } from "../wire/refusal.ts";
import type { Refused } from "./fault.ts";

const REFUSED_AS: Readonly<Record<number, RefusalType>> = {
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
};

/** Passes on the status of a refusal whose body is not JSON, such as a page of a proxy, without its body. */
export function refusedUnreadably(status: number, retryAfter: readonly string[]): Outcome {
  const type = REFUSED_AS[status] ?? "invalid_request_error";
  const message = `The upstream provider refused the call with HTTP ${status}.`;
  return brokenBy(refuse.as(status, type, message, { headers: retryAfter }));
}

/** Returns the gateway's own words for a refusal that no other key or route can make good. */
export function refusedOutcome(
  { fault, means, says }: Refused,
  call: Pick<Call, "endpoint">,
  retryAfter: readonly string[],
): Outcome {
  switch (fault) {
    case "caller": {
      const type = REFUSED_AS[means] ?? "invalid_request_error";
      return brokenBy(refuse.as(means, type, says ?? `The model's provider refused the call.`));
    }
    case "limit":
      return brokenBy(
        refuse.rateLimited(LIMITED, { code: "rate_limit_exceeded", headers: retryAfter }),
      );
    case "upstream": {
      if (means !== 503 && means !== 529) {
        return broken(`The upstream provider failed with HTTP ${means}. Nothing was charged.`);
      }
      // Each protocol has its own status for an overloaded provider, and agents wait longer then than after a failure.
      const own = call.endpoint.protocol === "messages" ? 529 : 503;
      return brokenBy(
        refuse.as(own, "overloaded_error", OVERLOADED, { code: "overloaded", headers: retryAfter }),
      );
    }
    default:
      return broken("The upstream provider cannot be used at the moment. Nothing was charged.");
  }
}

const LIMITED =
  "The model's provider takes no more calls at the moment: try again later. Nothing was charged.";

const OVERLOADED =
  "The model's upstream provider is overloaded: try again later. Nothing was charged.";

/** Returns the outcome for an upstream that is unreachable, or that failed after it got the request. */
export function broken(message: string): ReturnType<typeof brokenBy> {
  return brokenBy(refuse.upstreamFailed(message));
}

/** Returns the outcome for an upstream that accepted a stream, and then sent nothing for `seconds`. */
export function tooSlow(seconds: number, hasBegun: boolean): Outcome {
  const message = hasBegun
    ? `The model's upstream provider is too slow: it sent nothing for ${seconds} seconds in the middle of its reply.`
    : `The model's upstream provider is too slow: it did not begin to reply within ${seconds} seconds. Nothing was charged.`;
  return brokenBy(refuse.timedOut(message));
}
