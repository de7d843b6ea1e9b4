import type { Protocol } from "../catalogue/endpoint.ts";
import { isObject, type JsonObject, parseJson } from "../process/json.ts";
import { isOverflow, overflowForMessages, overflowSizes } from "./overflow.ts";

/** Types and codes of errors in a reply with status 200, and the statuses that they stand for. */
export const STATUS_BY_NAME: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  invalid_prompt: 400,
  invalid_image: 400,
  image_too_large: 400,
  // OpenAI's images (Wei-Shaw/sub2api#2399).
  image_generation_user_error: 400,
  moderation_blocked: 400,
  content_policy_violation: 400,
  authentication_error: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  overloaded_error: 529,
  overloaded: 529,
  server_is_overloaded: 529,
  slow_down: 529,
};

/**
 * Gives the error of a provider the shape and the code that clients of its protocol look for. Google
 * sends a list of one, xAI a string, Amazon a message alone; few name an overflow by its code.
 * Returns the same text if it needs nothing.
 */
export function readableError(protocol: Protocol, status: number, text: string): string {
  const json = parseJson(text);
  const root = Array.isArray(json) && json.length === 1 ? (json[0] as unknown) : json;
  if (!isObject(root)) return text;
  const given = isObject(root["error"]) ? root["error"] : undefined;
  const message = given?.["message"] ?? root["error"] ?? root["message"];
  if (typeof message !== "string") return text;
  const overflows = isOverflow(status, given?.["code"] ?? root["code"], message);
  if (protocol === "messages") {
    const own = given
      ? text
      : JSON.stringify({ type: "error", error: { type: typeOf(status), message } });
    return overflows ? (messagesOverflow(root, message) ?? own) : own;
  }
  const lacksCode = overflows && given?.["code"] !== "context_length_exceeded";
  if (given && root === json && !lacksCode) return text;
  const error: JsonObject = {
    ...(given ?? { message, param: null, code: root["code"] ?? null }),
    type: given?.["type"] ?? typeOf(status),
    ...(overflows ? { code: "context_length_exceeded" } : {}),
  };
  return JSON.stringify(given ? { ...root, error } : { error });
}

function messagesOverflow(root: JsonObject, message: string): string | undefined {
  const said = overflowForMessages(message, overflowSizes(message));
  if (said === message) return undefined;
  const error = { type: "invalid_request_error", message: said };
  return JSON.stringify({ ...root, type: "error", error });
}

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status === 404 ? "not_found_error" : "invalid_request_error";
}
