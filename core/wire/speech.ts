import { objectOf, parseJson } from "../process/json.ts";
import { asBuffer } from "../sse/bytes.ts";
import type { EventKind } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { openAiErrorBody } from "./openai-error.ts";
import { hasObject } from "./scan.ts";
import { tokensOf } from "./usage/numbers.ts";
import { kindOf, type Wire } from "./wire.ts";

const DONE = Buffer.from('"speech.audio.done"');
const ERROR = Buffer.from('"error"');

/**
 * Text to speech. Audio bytes pass through with the provider's content type, at one price per call.
 * With `stream_format: "sse"`, the audio comes as events, and the last one reports usage.
 */
export const speech: Wire = {
  protocol: "speech",
  check: (body) => checkFields(body, { input: "text", voice: "text" }),
  outputLimit: () => undefined,
  choices: () => 1,
  limitOutput() {},
  lacksUsage: () => false,
  askForUsage() {},
  errorBody: openAiErrorBody,
  errorEvent: (refusal) => encodeEvent(undefined, openAiErrorBody(refusal)),

  classify(event): EventKind {
    // Base64 has no quotes, so audio cannot imitate the name.
    if (asBuffer(event.raw).includes(DONE)) return "terminal";
    return hasObject(event.raw, ERROR) ? "error" : "data";
  },

  mayEndAt: () => false,
  stage: () => "delivered",

  isEmptyStart: () => false,

  // Audio is not JSON.
  judge: () => "none",
  readReply() {},

  readEvent(event, usage): boolean {
    if (kindOf(event, speech) !== "terminal") return false;
    const reported = objectOf(objectOf(parseJson(event.data))?.["usage"]);
    if (!reported) return false;
    usage.inputTokens = tokensOf(reported["input_tokens"]) ?? 0;
    usage.outputTokens = tokensOf(reported["output_tokens"]) ?? 0;
    usage.inputReported = true;
    usage.outputReported = true;
    return false;
  },

  countDelta() {},
  countReply() {},
};
