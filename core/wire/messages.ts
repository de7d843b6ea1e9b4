import type { Delivered, Wire } from "../contract/protocol.ts";
import { type Refusal, refuse } from "../contract/refusal.ts";
import { readMessagesUsage } from "../contract/usage/messages.ts";
import { arrayOf, countOf, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import type { EventKind, ServerEvent } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { countStrings, hasObject, startsWith } from "./scan.ts";

const BLOCK_EVENT = Buffer.from("event: content_block_");
const BLOCK_DELTA = Buffer.from("event: content_block_delta");
const EVENT_LINE = Buffer.from("event:");
const TEXT = Buffer.from('"text"');
const THINKING = Buffer.from('"thinking"');
const PARTIAL_JSON = Buffer.from('"partial_json"');
const USAGE = Buffer.from('"usage"');

/** The smallest thinking budget that Messages upstreams accept. */
const THINKING_TOKENS_MIN = 1024;

/** The Messages protocol: `POST /v1/messages`. */
export const messages: Wire = {
  protocol: "messages",

  check(body: JsonObject): Refusal | undefined {
    const refusal = checkFields(body, { messages: "list", stream: "flag" });
    if (refusal) return refusal;
    const limit = body["max_tokens"];
    if (countOf(limit) === undefined || limit === 0) {
      return refuse.badRequest(
        "max_tokens: a whole number of at least 1 is required",
        "max_tokens",
      );
    }
    return undefined;
  },

  outputLimit: (body) => countOf(body["max_tokens"]),
  choices: () => 1,

  limitOutput(body, tokens) {
    if (body["max_tokens"] === tokens) return;
    body["max_tokens"] = tokens;
    const thinking = objectOf(body["thinking"]);
    const budget = countOf(thinking?.["budget_tokens"]);
    if (!thinking || budget === undefined || budget < tokens) return;
    // The budget must be below the limit, or the upstream refuses the call.
    if (tokens > THINKING_TOKENS_MIN) body["thinking"] = { ...thinking, budget_tokens: tokens - 1 };
    else delete body["thinking"];
  },

  lacksUsage: () => false,
  askForUsage() {},

  errorBody: (refusal, requestId) =>
    JSON.stringify({
      type: "error",
      error: { type: refusal.type, message: refusal.message },
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
    const delta = objectOf(objectOf(parseJson(event.data))?.["delta"]);
    return typeof delta?.["stop_reason"] === "string";
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

  countDelta(event, delivered) {
    if (startsWith(event.raw, EVENT_LINE) && !startsWith(event.raw, BLOCK_DELTA)) return;
    if (countStrings(event.raw, TEXT, delivered)) return;
    if (countStrings(event.raw, PARTIAL_JSON, delivered)) return;
    countStrings(event.raw, THINKING, delivered);
  },

  countReply(reply, delivered: Delivered) {
    for (const entry of arrayOf(reply["content"])) {
      const block = objectOf(entry);
      if (typeof block?.["text"] === "string") delivered.addText(block["text"]);
      if (typeof block?.["thinking"] === "string") delivered.addText(block["thinking"]);
      if (block?.["input"] !== undefined) delivered.addText(JSON.stringify(block["input"]));
    }
  },
};

function typeOf(event: ServerEvent): unknown {
  return event.type ?? objectOf(parseJson(event.data))?.["type"];
}
