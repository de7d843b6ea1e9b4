import { encodeEvent } from "../sse/writer.ts";
import { checkFields } from "./check.ts";
import { openAiErrorBody } from "./openai-error.ts";
import type { Wire } from "./wire.ts";

/** Text to speech: audio bytes pass through with the provider's content type, one price a call. */
export const speech: Wire = {
  protocol: "speech",
  check: (body) => checkFields(body, { input: "text", voice: "text" }),
  outputLimit: () => undefined,
  limitOutput() {},
  lacksUsage: () => false,
  askForUsage() {},
  errorBody: openAiErrorBody,
  errorEvent: (refusal) => encodeEvent(undefined, openAiErrorBody(refusal)),
  kindOf: () => "data",
  isTerminal: () => false,
  mayEndAt: () => false,
  readReply() {},
  readEvent: () => false,
  countDelta() {},
  countReply() {},
};
