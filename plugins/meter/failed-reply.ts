import {
  isObject,
  type JsonObject,
  type Outcome,
  objectOf,
  type Protocol,
  type Refusal,
  refuse,
  STATUS_BY_NAME,
} from "../../core/plugin/index.ts";

const INVALID = "The upstream provider sent an invalid reply. Nothing was charged; try again.";
const OVERLOADED = 529;

/**
 * Returns the outcome of a successful status whose body is not a reply, for a client of `protocol`. An error in the
 * body counts as if it had come with its own status. `body` is undefined if it is not JSON.
 */
export function failedReply(body: JsonObject | undefined, protocol: Protocol): Outcome {
  const refusal = body ? refusalOf(body, protocol) : refuse.upstreamFailed(INVALID);
  return { kind: "broken", refusal, truncated: false, errorSent: false };
}

function refusalOf(body: JsonObject, protocol: Protocol): Refusal {
  const [choice] = Array.isArray(body["choices"]) ? body["choices"] : [];
  const stated = body["error"] ?? objectOf(choice)?.["error"];
  if (stated == null) return refuse.upstreamFailed(INVALID);
  const error = isObject(stated) ? stated : {};
  const text = isObject(stated) ? error["message"] : stated;
  const message = typeof text === "string" && text !== "" ? text : "The upstream refused the call.";
  const status = statusOf(body, error);
  switch (status) {
    case 401:
    case 402:
    case 403:
      // The provider refuses the account of the gateway; its message is for the operator.
      return refuse.upstreamFailed(
        "The upstream provider cannot be used at the moment. Nothing was charged.",
      );
    case 404:
      return refuse.notFound(message);
    case 413:
      return refuse.tooLarge(message);
    case 429:
      return refuse.rateLimited(message);
    case 503:
    case OVERLOADED:
      return protocol === "messages"
        ? refuse.as(OVERLOADED, "overloaded_error", message)
        : refuse.unavailable(message);
  }
  if (status < 500) return refuse.as(status, "invalid_request_error", message);
  return refuse.upstreamFailed(
    `The upstream provider failed with an error ${status}. Nothing was charged.`,
  );
}

/** Returns the status that an error states as a number, or else the one that its names stand for. */
function statusOf(body: JsonObject, error: JsonObject): number {
  for (const value of [error["code"], error["status"], body["code"], body["status"]]) {
    const status = typeof value === "string" ? Number(value) : value;
    if (typeof status === "number" && Number.isInteger(status) && status >= 400 && status < 600) {
      return status;
    }
  }
  for (const name of [error["type"], error["code"]]) {
    const status = typeof name === "string" ? STATUS_BY_NAME[name] : undefined;
    if (status !== undefined) return status;
  }
  return 502;
}
