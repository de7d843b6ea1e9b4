import { arrayOf, countOf, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import { asBuffer } from "../sse/bytes.ts";
import type { EventKind } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields, openAiErrorBody } from "./check.ts";
import { countObjects, countWhole, ITEM_BEGINNING, WHOLE_ITEM } from "./deltas.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { countText, hasObject } from "./scan.ts";
import { readResponsesUsage } from "./usage/read.ts";
import { type Stage, typeOf, type Wire } from "./wire.ts";

const RESPONSE = Buffer.from('"response"');
const DELTA = Buffer.from('"delta"');
const ITEM = Buffer.from('"item"');
const ITEM_ADDED = "response.output_item.added";

/** Items that the model writes. Others are what its tools have found. */
const OUTPUT_ITEMS = new Set<unknown>([
  ...["message", "reasoning", "function_call", "custom_tool_call", "image_generation_call"],
]);

/** The Responses protocol: `POST /v1/responses`, forwarded unchanged. */
export const responses: Wire = {
  protocol: "responses",
  reference: "OpenAI's Responses API",

  fields: { stream: "flag", max_output_tokens: "count" },

  check(body) {
    const input = body["input"];
    const given = (typeof input === "string" && input !== "") || Array.isArray(input);
    if (!given && body["prompt"] == null && body["previous_response_id"] == null) {
      return refuse.badRequest("input: a string or a list of items is required", "input");
    }
    return checkFields(body, responses.fields);
  },

  outputLimit: (body) => countOf(body.read("max_output_tokens")),
  // OpenAI refuses less: a wallet that covers less is short.
  outputMin: 16,
  choices: () => 1,

  limitOutput(body, tokens) {
    body.set("max_output_tokens", tokens);
  },

  lacksUsage: () => false,
  askForUsage() {},
  errorBody: openAiErrorBody,

  // OpenAI writes both. Its own clients raise the first as an error, and Codex knows the second alone. Providers number
  // the events from 0, and strict clients order by it.
  errorEvent(refusal, { id, at, model, events }) {
    const { message, type, param } = refusal;
    const code = refusal.code ?? type;
    // The documented fields, and those that OpenAI sends: openai/openai-dotnet#881.
    const stated = { code, message, param, error: { type, code, message, param } };
    const response = {
      ...{ id, object: "response", created_at: Math.floor(at / 1000), status: "failed" },
      ...{ error: { code: failureCode(refusal), message }, incomplete_details: null },
      ...{ instructions: null, metadata: {}, model, output: [], parallel_tool_calls: true },
      ...{ temperature: null, tool_choice: "auto", tools: [], top_p: null, usage: null },
    };
    return eventOf("error", events, stated) + eventOf("response.failed", events + 1, { response });
  },

  classify(event): EventKind {
    const type = typeOf(event);
    switch (type) {
      case "response.completed":
      case "response.incomplete":
        return "terminal";
      case "response.failed":
      case "error":
        return "error";
      default:
        return !isOfPart(type) && hasObject(event.raw, RESPONSE) ? "usage" : "data";
    }
  },

  mayEndAt: () => false,

  judge(body) {
    const { status, output } = body;
    const hasOutput = arrayOf(output).some((item) => !isEmptyItem(item));
    switch (status) {
      case "failed":
        return "free";
      case "queued":
      case "in_progress":
        return "none";
      case "cancelled":
        return hasOutput ? "charged" : "free";
      case "incomplete":
        return hasOutput || !isFiltered(body) ? "charged" : "free";
      default:
        return Array.isArray(output) ? "charged" : "none";
    }
  },

  readReply: readResponsesUsage,

  readEvent(event, usage): boolean {
    const response = objectOf(objectOf(parseJson(event.data))?.["response"]);
    if (response) readResponsesUsage(response, usage);
    return false;
  },

  stage(event): Stage {
    const data = objectOf(parseJson(event.data)) ?? {};
    const type = event.type ?? data["type"];
    switch (type) {
      case "response.failed":
        return "refused";
      case "response.completed":
      case "response.incomplete": {
        const response = objectOf(data["response"]) ?? {};
        if (arrayOf(response["output"]).some((item) => !isEmptyItem(item))) return "delivered";
        return isFiltered(response) ? "refused" : "begun";
      }
      default:
        if (isOfPart(type)) return isEmptyEvent(data) ? "begun" : "delivered";
        return typeof type === "string" && type.startsWith("response.") ? "begun" : "none";
    }
  },

  countDelta(event, delivered) {
    const type = typeOf(event);
    if (typeof type !== "string") return;
    const bytes = asBuffer(event.raw);
    if (type.endsWith(".delta")) {
      const value = bytes.indexOf(DELTA);
      if (value === -1) return;
      if (type.endsWith("audio.delta")) delivered.mediaBytes += bytes.length - value;
      else countText(bytes, value + DELTA.length, delivered);
    } else if (type === ITEM_ADDED) countObjects(bytes, ITEM, ITEM_BEGINNING, delivered);
    else if (type.endsWith(".partial_image")) delivered.images = Math.max(delivered.images, 1);
  },

  countReply(reply, delivered) {
    for (const item of arrayOf(reply["output"])) {
      if (OUTPUT_ITEMS.has(objectOf(item)?.["type"])) countWhole(item, WHOLE_ITEM, delivered);
    }
  },
};

/** Returns one of the codes of a failed response. Codex sends the call again after the last two. */
function failureCode({ status, code }: Refusal): string {
  if (status === 402) return "insufficient_quota";
  if (code === "context_length_exceeded") return code;
  const mayRepeat = status >= 500 || [408, 409, 429].includes(status);
  if (!mayRepeat) return "invalid_prompt";
  return status === 429 ? "rate_limit_exceeded" : "server_error";
}

function eventOf(type: string, sequence_number: number, fields: JsonObject): string {
  return encodeEvent(type, JSON.stringify({ type, sequence_number, ...fields }));
}

function isFiltered(response: JsonObject): boolean {
  return objectOf(response["incomplete_details"])?.["reason"] === "content_filter";
}

/** Returns true for an event about an item, a part or a text without content. */
function isEmptyEvent({ delta, item, part, ...event }: JsonObject): boolean {
  if (delta !== undefined) return delta === "";
  return item === undefined ? isEmptyPart(part ?? event) : isEmptyItem(item);
}

function isEmptyItem(item: unknown): boolean {
  const { type, content } = objectOf(item) ?? {};
  return type === "message" && arrayOf(content).every(isEmptyPart);
}

function isEmptyPart(part: unknown): boolean {
  const { text, refusal } = objectOf(part) ?? {};
  return text === "" || refusal === "";
}

/**
 * Returns true for an event about a part of the response: its type has a second dot. Other events
 * carry the whole response, with its usage.
 */
function isOfPart(type: unknown): boolean {
  const prefix = "response.";
  return typeof type === "string" && type.startsWith(prefix) && type.includes(".", prefix.length);
}
