import { isObject, type JsonObject, parseJson, providerErrors } from "../../core/plugin/index.ts";
import type { ChatError, MessagesError } from "./types.ts";

/** The tokens of a request that does not fit, and of the model's window. */
export interface OverflowSizes {
  readonly tokens: number;
  readonly window: number;
}

/** A whole reply: the status and the body in the client's protocol. */
export interface Reply<Body> {
  readonly status: number;
  readonly body: Body;
}

export const TRUNCATED = "Upstream stream ended before completion";
export const MALFORMED = "Upstream sent malformed data";
export const UNREADABLE = "Upstream sent an unreadable response";
export const OVERSIZED = "Upstream sent too much data out of order";

/**
 * Translates an error of a Chat upstream for a Messages client. `body` is text or parsed JSON.
 * `estimate` returns the sizes to name if the request is too large and the error does not say them.
 */
export function chatErrorToMessages(
  status: number,
  body: unknown,
  estimate?: () => OverflowSizes | undefined,
): Reply<MessagesError> {
  const found = parsed(body);
  const error = isObject(found) && isObject(found["error"]) ? found["error"] : undefined;
  const message = messageOf(found) ?? `Upstream returned HTTP ${status}`;
  return describeChatError(status, error, message, estimate);
}

/** Translates an error of Chat or Responses inside a 200: a whole body, or an event of a stream. */
export function chatErrorIn200(body: JsonObject): Reply<MessagesError> {
  const error = isObject(body["error"]) ? body["error"] : body;
  const message = messageOf(body) ?? "Upstream reported an error";
  return describeChatError(statusIn(body, error, message), error, message);
}

function statusIn(body: JsonObject, error: JsonObject, message: string): number {
  const { type, code, status, http_code } = error;
  const names = [type, code, status, http_code, body["code"], body["status"]];
  return providerErrors.statusOf(names, message);
}

/** The errors of Chat by the types of Messages. */
const CHAT_ERRORS: Readonly<Record<string, readonly [number, string, code: string | null]>> = {
  authentication_error: [401, "authentication_error", "invalid_api_key"],
  billing_error: [402, "insufficient_quota", "insufficient_quota"],
  permission_error: [403, "permission_error", null],
  not_found_error: [404, "invalid_request_error", "model_not_found"],
  conflict_error: [409, "conflict_error", null],
  request_too_large: [413, "invalid_request_error", "request_too_large"],
  rate_limit_error: [429, "rate_limit_error", "rate_limit_exceeded"],
  timeout_error: [504, "server_error", "timeout"],
  overloaded_error: [503, "server_error", "overloaded"],
};

/** Translates an error of a Messages upstream for a Chat client. */
export function messagesErrorToChat(status: number, body: unknown): Reply<ChatError> {
  const found = parsed(body);
  const error = isObject(found) && isObject(found["error"]) ? found["error"] : undefined;
  const message = messageOf(found) ?? `Upstream returned HTTP ${status}`;
  const type = error?.["type"];
  const isKnown = typeof type === "string" && Object.hasOwn(CHAT_ERRORS, type);
  const known = isKnown ? CHAT_ERRORS[type] : undefined;
  if (known) return chatError(known[0], known[1], message, known[2]);
  if (type === "invalid_request_error") return chatError(400, type, message, overflowCode(message));
  const stated = status >= 400 ? status : statusIn({}, error ?? {}, message);
  const kept = type === "api_error" ? Math.max(status, 500) : stated;
  return chatError(kept, kept >= 500 ? "server_error" : "invalid_request_error", message, null);
}

/**
 * Returns an error of a server of OpenAI's protocols unchanged, for a client of another of them.
 * Undefined if the body is not such an error.
 */
export function withChatError(status: number, body: unknown): Reply<object> | undefined {
  const found = parsed(body);
  return isObject(found) && isObject(found["error"]) ? { status, body: found } : undefined;
}

/** Reports a protocol violation of the upstream to a Messages client. */
export function brokenForMessages(message: string): Reply<MessagesError> {
  return messagesError(502, "api_error", message);
}

/** Reports a reply that the upstream could not finish. */
export function endedBy(finishReason: string): Reply<MessagesError> {
  return brokenForMessages(`Upstream ended with finish reason "${finishReason.slice(0, 64)}"`);
}

export function brokenForChat(message: string, code: string | null): Reply<ChatError> {
  return chatError(502, "server_error", message, code);
}

function describeChatError(
  status: number,
  error: JsonObject | undefined,
  message: string,
  estimate?: () => OverflowSizes | undefined,
): Reply<MessagesError> {
  const code = error?.["code"];
  const overflow = providerErrors.overflowMessage({ status, code, message }, estimate);
  if (overflow !== undefined) return messagesError(400, "invalid_request_error", overflow);
  if (status === 429 && code === "insufficient_quota") {
    return messagesError(402, "billing_error", message);
  }
  const [answered, type] = messagesStatus(status);
  return messagesError(answered, type, message);
}

/** The statuses of Messages and their types, by those of other protocols. */
const MESSAGES_ERRORS: Readonly<Record<number, [number, string]>> = {
  401: [401, "authentication_error"],
  402: [402, "billing_error"],
  403: [403, "permission_error"],
  404: [404, "not_found_error"],
  405: [400, "invalid_request_error"],
  408: [408, "timeout_error"],
  409: [409, "conflict_error"],
  413: [413, "request_too_large"],
  415: [400, "invalid_request_error"],
  422: [400, "invalid_request_error"],
  429: [429, "rate_limit_error"],
  501: [500, "api_error"],
  503: [529, "overloaded_error"],
  504: [504, "timeout_error"],
  529: [529, "overloaded_error"],
};

/** Returns the status and type for a Messages client. Ignores the upstream's own type string. */
function messagesStatus(status: number): [number, string] {
  const known = MESSAGES_ERRORS[status];
  if (known) return known;
  if (status >= 400 && status <= 499) return [status, "invalid_request_error"];
  const isOwn = status >= 500 && status <= 599 && !(status >= 520 && status <= 527);
  return [isOwn ? status : 502, "api_error"];
}

function overflowCode(message: string): string | null {
  return providerErrors.overflowMessage({ status: 400, message }) === undefined
    ? null
    : "context_length_exceeded";
}

function messagesError(status: number, type: string, message: string): Reply<MessagesError> {
  return { status, body: { type: "error", error: { type, message } } };
}

function chatError(
  status: number,
  type: string,
  message: string,
  code: string | null,
): Reply<ChatError> {
  return { status, body: { error: { message, type, param: null, code } } };
}

/**
 * Finds the upstream's error message in any of its known places. Ignores bodies that are not JSON.
 */
function messageOf(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const error = body["error"];
  const inner = isObject(error) ? error["message"] : error;
  return [inner, body["message"], detailOf(body["detail"])].find(isText);
}

/** FastAPI puts a list of errors in `detail`. */
function detailOf(detail: unknown): unknown {
  if (!Array.isArray(detail)) return detail;
  return detail
    .map((item: unknown) => (isObject(item) ? item["msg"] : item))
    .filter(isText)
    .join("; ");
}

function parsed(body: unknown): unknown {
  return typeof body === "string" ? parseJson(body) : body;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
