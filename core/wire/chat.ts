import type { Wire } from "../contract/protocol.ts";
import { refuse } from "../contract/refusal.ts";
import type { Usage } from "../contract/usage.ts";
import { arrayOf, countOf, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import type { EventKind } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { readDetachedImages } from "./image-tokens.ts";
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

  readReply(reply, usage) {
    const reported = objectOf(reply["usage"]);
    if (reported) readUsage(reported, usage);
  },

  readEvent(event, usage): boolean {
    if (!hasObject(event.raw, USAGE)) return false;
    const data = objectOf(parseJson(event.data));
    const reported = objectOf(data?.["usage"]);
    if (!reported) return false;
    readUsage(reported, usage);
    const choices = data?.["choices"];
    return Array.isArray(choices) && choices.length === 0;
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

/**
 * `prompt_tokens` includes cached tokens. Some providers leave reasoning out of `completion_tokens`
 * but include it in `total_tokens`; the difference of total and input is then the output.
 */
function readUsage(reported: JsonObject, usage: Usage): void {
  const input = countOf(reported["prompt_tokens"]);
  const inputDetails = objectOf(reported["prompt_tokens_details"]);
  const outputDetails = objectOf(reported["completion_tokens_details"]);
  const output = countOf(reported["completion_tokens"]);
  const total = countOf(reported["total_tokens"]);
  usage.cacheReadTokens =
    countOf(inputDetails?.["cached_tokens"]) ?? countOf(reported["prompt_cache_hit_tokens"]) ?? 0;
  usage.cacheWriteTokens = countOf(inputDetails?.["cache_write_tokens"]) ?? 0;
  usage.reasoningTokens = countOf(outputDetails?.["reasoning_tokens"]) ?? 0;
  if (input !== undefined) {
    usage.inputTokens = input;
    usage.inputReported = true;
  }
  if (output !== undefined) {
    const produced = total !== undefined && input !== undefined ? total - input : output;
    usage.outputTokens = usage.reasoningTokens > 0 ? Math.max(output, produced) : output;
    usage.outputReported = true;
  }
  readDetachedImages(reported, usage);
}
