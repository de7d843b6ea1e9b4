import type { Wire } from "../contract/protocol.ts";
import { refuse } from "../contract/refusal.ts";
import { readResponsesUsage } from "../contract/usage/responses.ts";
import { arrayOf, countOf, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import type { EventKind, ServerEvent } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { openAiErrorBody } from "./openai-error.ts";
import { countStrings, hasObject } from "./scan.ts";

const RESPONSE = Buffer.from('"response"');
const DELTA = Buffer.from('"delta"');

/** The Responses protocol: `POST /v1/responses`, forwarded unchanged. */
export const responses: Wire = {
  protocol: "responses",

  check(body) {
    const input = body["input"];
    const given = (typeof input === "string" && input !== "") || Array.isArray(input);
    if (!given && body["prompt"] == null && body["previous_response_id"] == null) {
      return refuse.badRequest("input: a text or a list of items is required", "input");
    }
    return checkFields(body, { stream: "flag", max_output_tokens: "count" });
  },

  outputLimit: (body) => countOf(body["max_output_tokens"]),
  choices: () => 1,

  limitOutput(body, tokens) {
    body["max_output_tokens"] = tokens;
  },

  lacksUsage: () => false,
  askForUsage() {},
  errorBody: openAiErrorBody,

  errorEvent: (refusal) =>
    encodeEvent(
      "error",
      JSON.stringify({
        type: "error",
        code: refusal.code ?? refusal.type,
        message: refusal.message,
        param: refusal.param,
      }),
    ),

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
    const hasOutput = Array.isArray(output) && output.length > 0;
    switch (status) {
      case "failed":
        return "free";
      case "queued":
      case "in_progress":
        return "pending";
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

  countDelta(event, delivered) {
    if (event.type === undefined || event.type.endsWith(".delta")) {
      countStrings(event.raw, DELTA, delivered);
    }
  },

  countReply(reply, delivered) {
    for (const entry of arrayOf(reply["output"])) {
      const item = objectOf(entry);
      for (const part of arrayOf(item?.["content"])) {
        const text = objectOf(part)?.["text"];
        if (typeof text === "string") delivered.addText(text);
      }
      if (typeof item?.["arguments"] === "string") delivered.addText(item["arguments"]);
    }
  },
};

function isFiltered(response: JsonObject): boolean {
  return objectOf(response["incomplete_details"])?.["reason"] === "content_filter";
}

/**
 * Returns true for an event about a part of the response: its type has a second dot. Other events
 * carry the whole response, with its usage.
 */
function isOfPart(type: unknown): boolean {
  const prefix = "response.";
  return typeof type === "string" && type.startsWith(prefix) && type.includes(".", prefix.length);
}

function typeOf(event: ServerEvent): unknown {
  return event.type ?? objectOf(parseJson(event.data))?.["type"];
}
