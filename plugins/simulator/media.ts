import type { JsonObject } from "../../core/plugin/index.ts";
import { type Answer, createdAt, type Usage } from "./answer.ts";
import { type Ask, Refused, requiredText, TOKENS_PER_IMAGE, textOr } from "./ask.ts";
import { type Endpoint, eventStream, frame, json, openai, responsesUsage } from "./endpoint.ts";
import { makePng } from "./png.ts";
import { countTokens } from "./text.ts";

/** OpenAI's image generation and editing. Source: the declarations of the `openai` package. */
export const imageGenerations: Endpoint = images("generations", "image_generation");
export const imageEdits: Endpoint = images("edits", "image_edit");

const IMAGES_MAX = 10;
const TOKENS_PER_IMAGE_MADE = 1_000;
const PARTS_MAX = 3;
const TOKENS_PER_PART = 100;
const SIDE_PIXELS_MAX = 4_096;

function images(kind: "generations" | "edits", event: string): Endpoint {
  return {
    ...openai,
    path: `/v1/images/${kind}`,
    read(body) {
      const { image, model, n } = body;
      if (kind === "edits" && image === undefined) {
        throw new Refused("Missing required parameter: 'image'.", "image");
      }
      // Fields of a form are text.
      const wanted = Number(n ?? 1);
      if (!Number.isInteger(wanted) || wanted < 1 || wanted > IMAGES_MAX) {
        throw new Refused("Invalid 'n': expected an integer between 1 and 10.", "n");
      }
      const read = image === undefined ? 0 : Array.isArray(image) ? image.length : 1;
      const prompt = requiredText(body, "prompt");
      const inputTokens = countTokens(prompt) + read * TOKENS_PER_IMAGE;
      const stream = body["stream"] === true || body["stream"] === "true";
      if (stream && wanted > 1) throw new Refused("Streaming is only supported with n=1.", "n");
      if (partsOf(body) > PARTS_MAX) {
        throw new Refused("Invalid 'partial_images': expected at most 3.", "partial_images");
      }
      return mediaAsk({ ...body, model: textOr(model, "gpt-image-1"), n: wanted }, stream, {
        prompt,
        inputTokens,
      });
    },
    reply(answer) {
      const { body, stream } = answer.ask;
      const count = stream ? 1 : Number(body["n"]);
      const parts = stream ? partsOf(body) : 0;
      const output = count * TOKENS_PER_IMAGE_MADE + parts * TOKENS_PER_PART;
      const usage = responsesUsage(answer.usage && { ...answer.usage, output, reasoning: 0 });
      const settings = {
        background: "opaque",
        output_format: "png",
        quality: textOr(body["quality"], "low"),
        size: textOr(body["size"], "1024x1024"),
      };
      const b64_json = picture(answer);
      if (stream) {
        const fields = { b64_json, created_at: createdAt, ...settings };
        const drafts = Array.from({ length: parts }, (_, partial_image_index) =>
          frame(`${event}.partial_image`, { ...fields, partial_image_index }),
        );
        return eventStream([...drafts, frame(`${event}.completed`, { ...fields, usage })]);
      }
      const data = Array.from({ length: count }, () => ({ b64_json }));
      return json({ created: createdAt, ...settings, data, usage });
    },
  };
}

function partsOf(body: JsonObject): number {
  return Number(body["partial_images"] ?? 0);
}

/** A picture of one colour, which depends on the request. */
function picture({ ask, id }: Answer): string {
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(textOr(ask.body["size"], "")) ?? [];
  const side = (pixels = "1024") => Math.min(Math.max(Number(pixels), 1), SIDE_PIXELS_MAX);
  return makePng(side(width), side(height), Number.parseInt(id.slice(0, 6), 16)).toString("base64");
}

const AUDIO_TYPES: Readonly<Record<string, string>> = {
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/** A silent frame of 26 ms: MPEG-1 layer 3, 128 kbit/s, 44.1 kHz. */
const SILENCE = Buffer.concat([Buffer.from("fffb9064", "hex")], 418);
const FRAMES = 10;

/** OpenAI's text to speech: silence, as bytes or for `stream_format: "sse"` as events. */
export const speech: Endpoint = {
  ...openai,
  path: "/v1/audio/speech",
  read(body) {
    const prompt = requiredText(body, "input");
    requiredText(body, "model");
    requiredText(body, "voice");
    return mediaAsk(body, true, { prompt, inputTokens: countTokens(prompt) });
  },
  reply({ ask: { body }, usage }) {
    const bytes = Buffer.concat(Array.from({ length: FRAMES }, () => SILENCE));
    if (body["stream_format"] === "sse") {
      return eventStream([
        frame("speech.audio.delta", { audio: bytes.toString("base64") }),
        frame("speech.audio.done", { usage: usage && speechUsage(usage) }),
      ]);
    }
    const type = AUDIO_TYPES[textOr(body["response_format"], "mp3")] ?? "audio/mpeg";
    return { type, parts: [bytes] };
  },
};

function speechUsage({ input, output }: Usage): JsonObject {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function mediaAsk(
  body: JsonObject,
  stream: boolean,
  { prompt, inputTokens }: Pick<Ask, "prompt" | "inputTokens">,
): Ask {
  const model = requiredText(body, "model");
  const none = { maxTokens: undefined, stops: [], tools: [], forced: false, format: undefined };
  return { ...none, model, stream, prompt, words: prompt, inputTokens, body };
}
