import { arrayOf, countOf, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import { asBuffer } from "../sse/bytes.ts";
import type { EventKind } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { countObjects, countWhole, MESSAGES_BLOCK, MESSAGES_DELTA } from "./deltas.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { hasObject, startsWith } from "./scan.ts";
import { readMessagesUsage } from "./usage/messages.ts";
import { type Delivered, type Stage, typeOf, type Wire } from "./wire.ts";

const BLOCK_EVENT = Buffer.from("event: content_block_");
const BLOCK_DELTA = Buffer.from("event: content_block_delta");
const EVENT_LINE = Buffer.from("event:");
const BLOCK_START = Buffer.from("event: content_block_start");
const DELTA = Buffer.from('"delta"');
const BLOCK = Buffer.from('"content_block"');
const USAGE = Buffer.from('"usage"');

/** The smallest thinking budget that Messages upstreams accept. */
const THINKING_TOKENS_MIN = 1024;

/** The Messages protocol: `POST /v1/messages`. */
export const messages: Wire = {
  protocol: "messages",
  reference: "Anthropic's Messages API",

  // With a limit of 0, Claude only reads the request into its cache.
  fields: { messages: "list", stream: "flag", max_tokens: "whole" },

  check(body: JsonObject): Refusal | undefined {
    const refusal = checkFields(body, messages.fields);
    if (refusal) return refusal;
    return body["thread"] == null ? undefined : threadRefusal(body["thread"]);
  },

  outputLimit: (body) => countOf(body.read("max_tokens")),
  outputMin: 1,
  choices: () => 1,

  limitOutput(body, tokens) {
    if (body.read("max_tokens") === tokens) return;
    body.set("max_tokens", tokens);
    const thinking = objectOf(body.read("thinking"));
    const budget = countOf(thinking?.["budget_tokens"]);
    if (!thinking || budget === undefined || budget < tokens) return;
    // The budget must be below the limit, or the upstream refuses the call.
    const isEnough = tokens > THINKING_TOKENS_MIN;
    body.set("thinking", isEnough ? { ...thinking, budget_tokens: tokens - 1 } : undefined);
  },

  lacksUsage: () => false,
  askForUsage() {},

  errorBody: (refusal, requestId) =>
    JSON.stringify({
      type: "error",
      error: { type: refusal.type, message: refusal.message, ...detailsOf(refusal) },
      request_id: requestId,
    }),

  errorEvent: (refusal) =>
    encodeEvent(
      "error",
      JSON.stringify({ type: "error", error: { type: refusal.type, message: refusal.message } }),
    ),

  classify(event): EventKind {
    if (startsWith(event.raw, BLOCK_EVENT)) return "data";
    switch (typeOf(event)) {
      case "message_stop":
        return "terminal";
      case "error":
        return "error";
      default:
        return hasObject(event.raw, USAGE) ? "usage" : "data";
    }
  },

  mayEndAt(event) {
    const reason = objectOf(objectOf(parseJson(event.data))?.["delta"])?.["stop_reason"];
    return typeof reason === "string" && reason !== "";
  },

  judge(body) {
    const content = body["content"];
    if (!Array.isArray(content)) return "none";
    if (body["stop_reason"] !== "refusal") return "charged";
    return content.every((block) => objectOf(block)?.["text"] === "") ? "free" : "charged";
  },

  readReply: readMessagesUsage,

  readEvent(event, usage): boolean {
    if (!hasObject(event.raw, USAGE)) return false;
    const data = objectOf(parseJson(event.data));
    if (data) readMessagesUsage(data, usage);
    return false;
  },

  stage(event): Stage {
    const data = objectOf(parseJson(event.data));
    const type = data?.["type"] ?? event.type;
    switch (type) {
      case "content_block_start": {
        const block = objectOf(data?.["content_block"]);
        return block?.["type"] === "text" && block["text"] === "" ? "begun" : "delivered";
      }
      case "content_block_delta": {
        const { type: _, ...content } = objectOf(data?.["delta"]) ?? {};
        return Object.values(content).every((value) => value === "") ? "begun" : "delivered";
      }
      // A block with content was delivered before.
      case "content_block_stop":
        return "begun";
      case "message_start":
        return arrayOf(objectOf(data?.["message"])?.["content"]).length > 0 ? "delivered" : "begun";
      case "message_delta":
        return objectOf(data?.["delta"])?.["stop_reason"] === "refusal" ? "refused" : "begun";
      default:
        return "none";
    }
  },

  countDelta(event, delivered) {
    const bytes = asBuffer(event.raw);
    if (startsWith(bytes, BLOCK_DELTA)) countObjects(bytes, DELTA, MESSAGES_DELTA, delivered);
    else if (startsWith(bytes, BLOCK_START)) countObjects(bytes, BLOCK, MESSAGES_BLOCK, delivered);
    else if (!startsWith(bytes, EVENT_LINE)) {
      countObjects(bytes, DELTA, MESSAGES_DELTA, delivered);
      countObjects(bytes, BLOCK, MESSAGES_BLOCK, delivered);
    }
  },

  countReply(reply, delivered: Delivered) {
    for (const block of arrayOf(reply["content"])) countWhole(block, MESSAGES_BLOCK, delivered);
  },
};

const THREAD_LOST = "thread_not_found";
const THREAD_UNSUPPORTED = "thread_unsupported_request";

/**
 * Refuses a thread, which the provider would keep for all customers of its key. The official SDK then sends the whole
 * conversation in each call; if it continues a thread, it first asks for a new one.
 */
function threadRefusal(thread: unknown): Refusal {
  const wanted = "send the whole conversation in each call, without thread";
  if (objectOf(thread)?.["type"] === "continue") {
    const message = `thread: no conversation is kept under this id; ${wanted}`;
    return refuse.notFound(message, { param: "thread", code: THREAD_LOST });
  }
  const message = `thread: conversations are not kept for later calls; ${wanted}`;
  return refuse.badRequest(message, { param: "thread", code: THREAD_UNSUPPORTED });
}

/** The details by which the official SDK knows that it can do without a thread. */
function detailsOf({ code, param }: Refusal): JsonObject {
  if (code === THREAD_LOST) return { details: { error_code: code } };
  if (code !== THREAD_UNSUPPORTED) return {};
  return { details: { error_code: code, unsupported: [param] } };
}
