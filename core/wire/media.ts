import { arrayOf, countOf, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import { asBuffer } from "../sse/bytes.ts";
import { type EventKind, ServerEvent } from "../sse/reader.ts";
import { encodeEvent } from "../sse/writer.ts";
import { checkFields, openAiErrorBody } from "./check.ts";
import { refuse } from "./refusal.ts";
import { hasObject, hasObjectOrText } from "./scan.ts";
import { tokensOf } from "./usage/numbers.ts";
import type { Usage } from "./usage/usage.ts";
import { isDone, kindOf, type Wire } from "./wire.ts";

/** Protocols without an output limit, whose replies deliver no text. */
const WITHOUT_TEXT = {
  outputLimit: () => undefined,
  outputMin: 1,
  choices: () => 1,
  limitOutput() {},
  lacksUsage: () => false,
  askForUsage() {},
  errorBody: openAiErrorBody,
  errorEvent: (refusal) => encodeEvent(undefined, openAiErrorBody(refusal)),
  mayEndAt: () => false,
  stage: () => "delivered",
  countDelta() {},
  countReply() {},
} as const satisfies Partial<Wire>;

/** A number that the report lacks is 0. */
function readTokens(reported: JsonObject, usage: Usage): void {
  usage.inputTokens = tokensOf(reported["input_tokens"]) ?? 0;
  usage.outputTokens = tokensOf(reported["output_tokens"]) ?? 0;
  usage.inputReported = true;
  usage.outputReported = true;
}

/** The maximum number of images that providers make per call. */
const IMAGES_PER_CALL_MAX = 10;

const IMAGE_DONE = ["generation", "edit"].map((kind) => Buffer.from(`"image_${kind}.completed"`));
const IMAGES = [Buffer.from('"b64_json"'), Buffer.from('"url"')];

/** Returns true for an image in the list of a reply, unless it is empty. */
function isImage(item: unknown): boolean {
  const { b64_json, url } = objectOf(item) ?? {};
  return Boolean(b64_json) || Boolean(url);
}

/**
 * Image generation and editing: billed by the number of images that come back. A stream has one image, in its last event;
 * those before it show the image as it is drawn.
 */
export const images: Wire = {
  ...WITHOUT_TEXT,
  protocol: "images",
  reference: "OpenAI's Images API",

  fields: { prompt: "text", n: "count", size: "size", stream: "flag" },

  check(body) {
    const refusal = checkFields(body, images.fields);
    if (refusal) return refusal;
    const isStream = body["stream"] === true;
    // OpenAI: "Streaming is only supported with n=1" (theopenco/llmgateway#3963).
    const most = isStream ? 1 : IMAGES_PER_CALL_MAX;
    if ((countOf(body["n"]) ?? 1) <= most) return undefined;
    const message = isStream ? "a stream has one image" : `at most ${most} images per call`;
    return refuse.badRequest(`n: ${message}`, "n");
  },

  classify(event): EventKind {
    // Base64 has no quotes, so an image cannot imitate a name.
    const raw = asBuffer(event.raw);
    const isLast = event.type?.endsWith(".completed") || IMAGE_DONE.some((it) => raw.includes(it));
    if (isLast && images.stage(event) === "delivered") return "terminal";
    // Azure states inside of an event that its filter could not look at the prompt.
    const isError =
      event.type === "error" ||
      (hasObject(raw, ERROR) && objectOf(objectOf(parseJson(event.data))?.["error"]) !== undefined);
    if (isError) return "error";
    return isLast ? "terminal" : "data";
  },

  stage: ({ raw }) => (IMAGES.some((it) => hasObjectOrText(raw, it)) ? "delivered" : "none"),
  judge: (body) => (Array.isArray(body["data"]) ? "charged" : "none"),

  // Servers that do not know `stream` send JSON.
  asEvent({ data, created, ...fields }, path) {
    const image = arrayOf(data).find(isImage);
    if (!image) return undefined;
    const type = `image_${path.endsWith("/edits") ? "edit" : "generation"}.completed`;
    const event = { ...fields, ...objectOf(image), type, created_at: created };
    return new ServerEvent(Buffer.from(encodeEvent(type, JSON.stringify(event))));
  },

  readReply(reply, usage) {
    const reported = objectOf(reply["usage"]);
    usage.images = arrayOf(reply["data"]).filter(isImage).length;
    if (reported) readTokens(reported, usage);
  },

  readEvent(event, usage): boolean {
    if (kindOf(event, images) !== "terminal") return false;
    const reported = objectOf(objectOf(parseJson(event.data))?.["usage"]);
    // Seedream's streams have their images before the last event, which states their number.
    const before = tokensOf(reported?.["generated_images"]) ?? 0;
    usage.images = images.stage(event) === "delivered" ? 1 : before;
    if (reported) readTokens(reported, usage);
    return false;
  },
};

const DONE = Buffer.from('"speech.audio.done"');
const ERROR = Buffer.from('"error"');

/**
 * Text to speech. Audio bytes pass through with the provider's content type, at one price per call.
 * With `stream_format: "sse"`, the audio comes as events, and the last one reports usage.
 */
export const speech: Wire = {
  ...WITHOUT_TEXT,
  protocol: "speech",
  reference: "OpenAI's Audio API",
  fields: { input: "text", voice: "text" },

  check(body) {
    if (!objectOf(body["voice"])) return checkFields(body, speech.fields);
    const message = "voice: voices by id are not kept here; send the name of a voice";
    return refuse.badRequest(message, "voice");
  },

  classify(event): EventKind {
    // Base64 has no quotes, so audio cannot imitate the name. Together AI ends a stream by [DONE].
    if (asBuffer(event.raw).includes(DONE) || isDone(event)) return "terminal";
    return hasObject(event.raw, ERROR) ? "error" : "data";
  },

  // Audio is not JSON.
  judge: () => "none",
  readReply() {},

  readEvent(event, usage): boolean {
    if (kindOf(event, speech) !== "terminal") return false;
    const reported = objectOf(objectOf(parseJson(event.data))?.["usage"]);
    if (reported) readTokens(reported, usage);
    return false;
  },
};

/** OpenAI's limit. OpenAI docs: embeddings reference. */
const TEXTS_MAX = 2_048;

/** Embeddings: billed by the tokens of the input. A call has a text, the tokens of one, or a list of either. */
export const embeddings: Wire = {
  ...WITHOUT_TEXT,
  protocol: "embeddings",
  reference: "OpenAI's Embeddings API",

  fields: { stream: "flag" },

  check(body) {
    const refusal = checkFields(body, embeddings.fields);
    if (refusal) return refusal;
    if (body["stream"] === true) {
      return refuse.badRequest("stream: embeddings are not streamed; leave it out", "stream");
    }
    const problem = problemOf(body["input"]);
    return problem === undefined ? undefined : refuse.badRequest(`input: ${problem}`, "input");
  },

  choices: (body) => textsIn(body.read("input")),
  classify: () => "data",
  judge: (body) => (arrayOf(body["data"]).length > 0 ? "charged" : "none"),

  readReply(reply, usage) {
    const reported = objectOf(reply["usage"]);
    // Every text has a token: a report of 0 is none.
    const input = tokensOf(reported?.["prompt_tokens"]) || tokensOf(reported?.["total_tokens"]);
    usage.inputTokens = input || 0;
    usage.inputReported = usage.inputTokens > 0;
    // There is no output.
    usage.outputReported = true;
  },

  readEvent: () => false,
};

function textsIn(input: unknown): number {
  const list = arrayOf(input);
  return list.length > 0 && !list.every(isToken) ? list.length : 1;
}

function problemOf(input: unknown): string | undefined {
  if (isText(input)) return undefined;
  const list = arrayOf(input);
  const isRead =
    list.length > 0 && (list.every(isText) || list.every(isToken) || list.every(isTokens));
  if (!isRead) return "a text, a list of texts, or the tokens of either are required";
  const texts = textsIn(list);
  return texts <= TEXTS_MAX ? undefined : `at most ${TEXTS_MAX} texts per call, got ${texts}`;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isToken(value: unknown): boolean {
  return typeof value === "number";
}

function isTokens(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isToken);
}
