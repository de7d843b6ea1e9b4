import type { Protocol } from "../catalogue/endpoint.ts";
import { isObject, type JsonObject, parseJson } from "../process/json.ts";
import { isOverflow, overflowForMessages, overflowMessage, overflowSizes } from "./overflow.ts";

/** Types and codes of errors in a reply with status 200, and the statuses that they stand for. */
const STATUS_BY_NAME: ReadonlyMap<string, number> = new Map([
  ...as(400, "invalid_request_error", "invalid_request", "context_length_exceeded"),
  // OpenAI docs: `response.error.code` of Responses; errors of images.
  ...as(400, "invalid_prompt", "data_residency_mismatch", "invalid_image", "invalid_image_format"),
  ...as(400, "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small"),
  ...as(400, "image_parse_error", "image_content_policy_violation", "invalid_image_mode"),
  ...as(400, "image_file_too_large", "unsupported_image_media_type", "empty_image_file"),
  ...as(400, "failed_to_download_image", "image_file_not_found"),
  ...as(400, "image_generation_user_error", "moderation_blocked", "content_policy_violation"),
  ...as(400, "cyber_policy", "bio_policy", "misalignment_policy_violation"),
  // Azure
  ...as(400, "content_filter"),
  // Alibaba: help.aliyun.com/en/model-studio/error-code
  ...as(400, "data_inspection_failed", "DataInspectionFailed"),
  ...as(400, "invalid_parameter_error", "InvalidParameter"),
  // Z.ai: docs.z.ai/api-reference/api-code
  ...as(400, "1210", "1213", "1214", "1215", "1261", "1300", "1301"),
  // MiniMax: platform.minimax.io/docs/api-reference/errorcode
  ...as(400, "2013"),
  ...as(401, "authentication_error"),
  ...as(402, "billing_error", "insufficient_quota"),
  ...as(403, "permission_error"),
  ...as(404, "not_found_error", "model_not_found"),
  ...as(413, "request_too_large"),
  ...as(429, "rate_limit_error", "rate_limit_exceeded", "flex_unavailable"),
  ...as(529, "overloaded_error", "overloaded", "server_is_overloaded", "slow_down"),
]);

function as(status: number, ...names: readonly string[]): (readonly [string, number])[] {
  return names.map((name) => [name, status] as const);
}

export const providerErrors = {
  overflowMessage,

  /** Returns the status that an error in a reply with status 200 stands for: a number in it, or one by its names. */
  statusOf(names: readonly unknown[], message: string): number {
    // An object of JSON can throw when it becomes text.
    const given = names.filter((name) => ["string", "number"].includes(typeof name)).map(String);
    const status = given.find((name) => /^[45]\d\d$/.test(name));
    if (status !== undefined) return Number(status);
    const known = given.find((name) => STATUS_BY_NAME.has(name)) ?? "";
    return STATUS_BY_NAME.get(known) ?? (/\boverloaded\b/i.test(message) ? 529 : 502);
  },
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
  if (status === 413) return "request_too_large";
  return status === 404 ? "not_found_error" : "invalid_request_error";
}
