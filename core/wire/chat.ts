import {
  arrayOf,
  countOf,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
} from "../process/json.ts";
import { asBuffer } from "../sse/bytes.ts";
import type { EventKind } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields, openAiErrorBody } from "./check.ts";
import { CHAT_DELTA, countObjects, countWhole } from "./deltas.ts";
import { isEnd, meaningOf } from "./finish-reason.ts";
import { refuse } from "./refusal.ts";
import { hasObject, hasObjectOrText } from "./scan.ts";
import { readChatUsage } from "./usage/read.ts";
import { isDone, type Stage, type Wire } from "./wire.ts";

const DELTA = Buffer.from('"delta"');
/** The beginning of `usage`, and of Google's `usageMetadata`. */
const USAGE = Buffer.from('"usage');
const TIMINGS = Buffer.from('"timings"');
/** Shorter events cannot have timings, which are nine names with their numbers, beside the chunk around them. */
const TIMINGS_BYTES_MIN = 350;
const ERROR = Buffer.from('"error"');

/** The maximum number of choices that providers accept. */
const CHOICES_MAX = 128;

/** The Chat Completions protocol: `POST /v1/chat/completions`. */
export const chat: Wire = {
  protocol: "chat",
  reference: "OpenAI's Chat Completions API",

  fields: {
    messages: "list",
    stream: "flag",
    max_tokens: "count",
    max_completion_tokens: "count",
    n: "count",
  },

  check(body) {
    const refusal = checkFields(body, hasInput(body) ? BESIDE_INPUT : chat.fields);
    if (refusal) return refusal;
    if ((countOf(body["n"]) ?? 1) <= CHOICES_MAX) return undefined;
    return refuse.badRequest(`n: at most ${CHOICES_MAX} choices per call`, "n");
  },

  outputLimit(body) {
    const newer = countOf(body.read("max_completion_tokens"));
    const older = countOf(body.read("max_tokens"));
    return newer !== undefined && older !== undefined ? Math.max(newer, older) : (newer ?? older);
  },

  outputMin: 1,
  choices: (body) => countOf(body.read("n")) ?? 1,

  limitOutput(body, tokens, chatField) {
    const other = chatField === "max_tokens" ? "max_completion_tokens" : "max_tokens";
    // An upstream ignores or refuses the name that it does not know.
    if (body.read(other) !== undefined) body.set(other, undefined);
    body.set(chatField, tokens);
  },

  lacksUsage: (body) => objectOf(body.read("stream_options"))?.["include_usage"] !== true,

  askForUsage(body) {
    const options = objectOf(body.read("stream_options"));
    body.set("stream_options", { ...options, include_usage: true });
  },

  errorBody: openAiErrorBody,
  errorEvent: (refusal) => encodeEvent(undefined, openAiErrorBody(refusal)),

  classify(event): EventKind {
    if (isDone(event)) return "terminal";
    if (hasObjectOrText(event.raw, ERROR)) {
      const error = objectOf(parseJson(event.data))?.["error"];
      if (isObject(error) || (typeof error === "string" && error !== "")) return "error";
    }
    return mayReport(event.raw) ? "usage" : "data";
  },

  mayEndAt(event) {
    const data = objectOf(parseJson(event.data));
    const choice = objectOf(arrayOf(data?.["choices"])[0]);
    return isEnd(choice?.["finish_reason"]);
  },

  judge(body) {
    const choices = arrayOf(body["choices"]).filter(isObject);
    if (choices.length === 0) return "none";
    if (choices.some((choice) => hasContent(objectOf(choice["message"]) ?? choice)))
      return "charged";
    if (choices.some((choice) => isObject(choice["error"]))) return "none";
    const end = endOf(choices);
    return end === "failure" ? "none" : end === "filter" ? "free" : "charged";
  },

  readReply: readChatUsage,

  readEvent(event, usage): boolean {
    if (!mayReport(event.raw)) return false;
    const data = objectOf(parseJson(event.data));
    if (!data) return false;
    readChatUsage(data, usage);
    const { usage: report, choices } = data;
    return isObject(report) && Array.isArray(choices) && choices.length === 0;
  },

  stage(event): Stage {
    const data = objectOf(parseJson(event.data));
    const choices = arrayOf(data?.["choices"]).filter(isObject);
    if (choices.length === 0) return "none";
    const carries = choices.some(({ delta, message }) =>
      [delta, message].some((part) => isObject(part) && hasContent(part)),
    );
    if (carries) return "delivered";
    const end = endOf(choices);
    return end === "failure" ? "failed" : end === "filter" ? "refused" : "begun";
  },

  countDelta(event, delivered) {
    countObjects(asBuffer(event.raw), DELTA, CHAT_DELTA, delivered);
  },

  countReply(reply, delivered) {
    for (const choice of arrayOf(reply["choices"])) {
      countWhole(objectOf(choice)?.["message"], CHAT_DELTA, delivered);
    }
  },
};

/** Returns how choices without content end: in a failure if one does, and the others in that or in a filter. */
function endOf(choices: readonly JsonObject[]): "filter" | "failure" | undefined {
  const ends = choices.map((choice) => meaningOf(choice["finish_reason"]));
  if (ends.every((end) => end === "filter")) return "filter";
  return ends.every((end) => end === "filter" || end === "failure") ? "failure" : undefined;
}

/** Cursor sends the input of Responses here, which the translation takes as messages: BerriAI/litellm#34029. */
function hasInput({ messages, input }: JsonObject): boolean {
  return messages == null && (Array.isArray(input) ? input.length > 0 : typeof input === "string");
}

const { messages: _, ...BESIDE_INPUT } = chat.fields;

function mayReport(raw: Uint8Array): boolean {
  return hasObject(raw, USAGE) || (raw.length > TIMINGS_BYTES_MIN && hasObject(raw, TIMINGS));
}

/** Returns true if a message or a delta carries anything but its role. */
function hasContent(message: JsonObject): boolean {
  for (const name in message) {
    if (NO_CONTENT.has(name)) continue;
    const value = message[name];
    if (typeof value === "string" ? value !== "" : hasEntries(value)) return true;
  }
  return false;
}

/** Fields of a message, or of a choice without one, that are not its output. */
const NO_CONTENT = new Set(["role", "index", "finish_reason", "logprobs", "error", "usage"]);

function hasEntries(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
}
