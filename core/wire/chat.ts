import type { Wire } from "../contract/protocol.ts";
import { refuse } from "../contract/refusal.ts";
import { readChatUsage } from "../contract/usage/chat.ts";
import { arrayOf, countOf, isObject, objectOf, parseJson } from "../process/json.ts";
import type { EventKind } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { openAiErrorBody } from "./openai-error.ts";
import { countStrings, hasObject } from "./scan.ts";

const CONTENT = Buffer.from('"content"');
const ARGUMENTS = Buffer.from('"arguments"');
const REASONING = [Buffer.from('"reasoning_content"'), Buffer.from('"reasoning"')];
const REFUSAL = Buffer.from('"refusal"');
const USAGE = Buffer.from('"usage"');
const ERROR = Buffer.from('"error"');

/** The most choices that providers accept. */
const CHOICES_MAX = 128;

/** Longer than any `data: [DONE]`, with any line ends. */
const DONE_BYTES_MAX = 32;

/** The Chat Completions protocol: `POST /v1/chat/completions`. */
export const chat: Wire = {
  protocol: "chat",

  check(body) {
    const refusal = checkFields(body, {
      messages: "list",
      stream: "flag",
      max_tokens: "count",
      max_completion_tokens: "count",
      n: "count",
    });
    if (refusal) return refusal;
    if ((countOf(body["n"]) ?? 1) <= CHOICES_MAX) return undefined;
    return refuse.badRequest(`n: at most ${CHOICES_MAX} choices per call`, "n");
  },

  outputLimit: (body) => countOf(body["max_completion_tokens"]) ?? countOf(body["max_tokens"]),
  choices: (body) => countOf(body["n"]) ?? 1,

  limitOutput(body, tokens) {
    // Keep the name that the request uses: its upstream knows it.
    const name = body["max_tokens"] != null ? "max_tokens" : "max_completion_tokens";
    if (body["max_completion_tokens"] != null) body["max_completion_tokens"] = tokens;
    else body[name] = tokens;
  },

  lacksUsage: (body) => objectOf(body["stream_options"])?.["include_usage"] !== true,

  askForUsage(body) {
    body["stream_options"] = { ...objectOf(body["stream_options"]), include_usage: true };
  },

  errorBody: openAiErrorBody,
  errorEvent: (refusal) => encodeEvent(undefined, openAiErrorBody(refusal)),

  classify(event): EventKind {
    if (event.raw.length <= DONE_BYTES_MAX && event.data === "[DONE]") return "terminal";
    if (hasObject(event.raw, ERROR)) {
      if (objectOf(objectOf(parseJson(event.data))?.["error"])) return "error";
    }
    return hasObject(event.raw, USAGE) ? "usage" : "data";
  },

  mayEndAt(event) {
    const data = objectOf(parseJson(event.data));
    const choice = objectOf(arrayOf(data?.["choices"])[0]);
    return typeof choice?.["finish_reason"] === "string";
  },

  readReply: readChatUsage,

  readEvent(event, usage): boolean {
    if (!hasObject(event.raw, USAGE)) return false;
    const data = objectOf(parseJson(event.data));
    if (!data) return false;
    readChatUsage(data, usage);
    const { usage: report, choices } = data;
    return isObject(report) && Array.isArray(choices) && choices.length === 0;
  },

  countDelta(event, delivered) {
    if (countStrings(event.raw, CONTENT, delivered)) return;
    if (countStrings(event.raw, ARGUMENTS, delivered)) return;
    for (const name of REASONING) if (countStrings(event.raw, name, delivered)) return;
    countStrings(event.raw, REFUSAL, delivered);
  },

  countReply(reply, delivered) {
    for (const entry of arrayOf(reply["choices"])) {
      const message = objectOf(objectOf(entry)?.["message"]);
      for (const name of ["content", "reasoning_content", "refusal"]) {
        const text = message?.[name];
        if (typeof text === "string") delivered.addText(text);
      }
      if (message?.["tool_calls"]) delivered.addText(JSON.stringify(message["tool_calls"]));
    }
  },
};
