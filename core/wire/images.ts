import { arrayOf, countOf, objectOf } from "../process/json.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { openAiErrorBody } from "./openai-error.ts";
import { refuse } from "./refusal.ts";
import { tokensOf } from "./usage/numbers.ts";
import type { Wire } from "./wire.ts";

/** The maximum number of images that providers make per call. */
const IMAGES_PER_CALL_MAX = 10;

const SIZE = /^([1-9]\d{0,4}x[1-9]\d{0,4}|auto)$/;

/** Image generation and editing: billed by the number of images that come back. */
export const images: Wire = {
  protocol: "images",

  check(body) {
    const refusal = checkFields(body, { prompt: "text", n: "count", stream: "flag" });
    if (refusal) return refusal;
    if ((countOf(body["n"]) ?? 1) > IMAGES_PER_CALL_MAX) {
      return refuse.badRequest(`n: at most ${IMAGES_PER_CALL_MAX} images per call`, "n");
    }
    if (body["stream"] === true) {
      return refuse.badRequest("stream: images are not streamed here; leave it out", "stream");
    }
    const size = body["size"];
    if (size != null && !(typeof size === "string" && SIZE.test(size))) {
      return refuse.badRequest(
        "size: must have the form <width>x<height>, such as 1024x1024",
        "size",
      );
    }
    return undefined;
  },

  outputLimit: () => undefined,
  choices: () => 1,
  limitOutput() {},
  lacksUsage: () => false,
  askForUsage() {},
  errorBody: openAiErrorBody,
  errorEvent: (refusal) => encodeEvent(undefined, openAiErrorBody(refusal)),
  classify: () => "data",
  mayEndAt: () => false,

  stage: () => "delivered",

  isEmptyStart: () => false,

  judge: (body) => (Array.isArray(body["data"]) ? "charged" : "none"),

  readReply(reply, usage) {
    const reported = objectOf(reply["usage"]);
    usage.images = arrayOf(reply["data"]).length;
    usage.inputTokens = tokensOf(reported?.["input_tokens"]) ?? 0;
    usage.outputTokens = tokensOf(reported?.["output_tokens"]) ?? 0;
    usage.inputReported = reported !== undefined;
    usage.outputReported = reported !== undefined;
  },

  readEvent: () => false,
  countDelta() {},
  countReply() {},
};
