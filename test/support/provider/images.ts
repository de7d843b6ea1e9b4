import type { JsonObject } from "../../../core/process/json.ts";
import { TOKENS_PER_IMAGE, textOr } from "../../../plugins/simulator/ask.ts";
import { makePng } from "../../../plugins/simulator/png.ts";
import { countTokens } from "../../../plugins/simulator/text.ts";
import { type Answer, createdAt } from "./answer.ts";
import { type Ask, type Problem, problem } from "./ask.ts";
import { openaiError } from "./openai-error.ts";
import { eventStream, type Protocol } from "./protocol.ts";

/** OpenAI's image generation. Source: the declarations of the `openai` package. */
export const imageGenerations: Protocol = imageProtocol("generations");

/** OpenAI's image editing. Takes multipart, as OpenAI's clients send it, or JSON with `image`. */
export const imageEdits: Protocol = imageProtocol("edits");

const sidePixelsMax = 4_096;
const tokensPerPart = 100;

function imageProtocol(kind: "generations" | "edits"): Protocol {
  const event = kind === "edits" ? "image_edit" : "image_generation";
  return {
    path: `/v1/images/${kind}`,
    idHeader: "x-request-id",
    read: (body) => read(body, kind),
    whole,
    events: (answer) => events(answer, event),
    alwaysStreams: false,
    streamType: () => eventStream,
    error: openaiError,
    errorEvent: ({ directive }) => `event: error\ndata: ${openaiError(500, directive)}\n\n`,
    ping: ": ping\n\n",
  };
}

function read(body: JsonObject, kind: "generations" | "edits"): Ask | Problem {
  const { prompt, image, n } = body;
  if (typeof prompt !== "string") return problem("Missing required parameter: 'prompt'.", "prompt");
  if (kind === "edits" && image === undefined && body["images"] === undefined) {
    return problem("Missing required parameter: 'image'.", "image");
  }
  // Form fields are text, so convert.
  const images = n === undefined || n === null ? 1 : Number(n);
  if (!Number.isInteger(images) || images < 1 || images > 10) {
    return problem("Invalid 'n': expected an integer between 1 and 10.", "n");
  }
  const stream = body["stream"] === true || body["stream"] === "true";
  // theopenco/llmgateway#3963
  if (stream && images > 1) return problem("Streaming is only supported with n=1.", "n");
  if (partsOf(body) > 3) return problem("Invalid 'partial_images'.", "partial_images");
  const read = image === undefined ? 0 : Array.isArray(image) ? image.length : 1;
  const imageTokens = read * TOKENS_PER_IMAGE;
  return {
    model: textOr(body["model"], "gpt-image-1"),
    stream,
    prompt,
    inputTokens: countTokens(prompt) + imageTokens,
    imageTokens,
    maxTokens: undefined,
    stops: [],
    choices: 1,
    images,
    includeUsage: true,
    body,
  };
}

function partsOf(body: JsonObject): number {
  return Number(body["partial_images"] ?? 0);
}

function whole(answer: Answer): string {
  const { directive, ask, id } = answer;
  const asUrl = directive.image_url ?? ask.body["response_format"] === "url";
  const revised_prompt = directive.text ?? (directive.echo === true ? answer.text : undefined);
  const picture = asUrl ? "" : base64Image(answer);
  const data = Array.from({ length: directive.images ?? ask.images }, (_, index) =>
    asUrl
      ? { url: `https://images.simulator.invalid/${id}-${index}.png`, revised_prompt }
      : { b64_json: picture, revised_prompt },
  );
  return JSON.stringify({
    created: createdAt,
    ...imageSettings(ask),
    data,
    usage: usageOf(answer),
  });
}

/** Yields the events of a stream: up to 3 `partial_images`, then one image. */
function* events(answer: Answer, name: string): Generator<string> {
  const b64_json = base64Image(answer);
  const fields = { b64_json, created_at: createdAt, ...imageSettings(answer.ask) };
  const sketches = partsOf(answer.ask.body);
  for (let partial_image_index = 0; partial_image_index < sketches; partial_image_index++) {
    const type = `${name}.partial_image`;
    yield frame({ type, ...fields, partial_image_index });
  }
  yield frame({ type: `${name}.completed`, ...fields, usage: usageOf(answer) });
}

/** Returns a PNG, whatever the requested format. `image_bytes` pads it after its end. */
function base64Image({ directive, ask, id }: Answer): string {
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(textOr(ask.body["size"], "")) ?? [];
  const colour = Number.parseInt(id.slice(0, 6), 16);
  const png = makePng(side(width), side(height), colour);
  const size = directive.image_bytes ?? png.length;
  if (size <= png.length) return png.toString("base64", 0, size);
  return Buffer.concat([png], size).toString("base64");
}

function side(pixels: string | undefined): number {
  return Math.min(Math.max(Number(pixels ?? 1_024), 1), sidePixelsMax);
}

function imageSettings({ body }: Ask): JsonObject {
  return {
    background: "opaque",
    output_format: textOr(body["output_format"], "png"),
    quality: textOr(body["quality"], "low"),
    size: textOr(body["size"], "1024x1024"),
  };
}

function usageOf({ ask, directive, usage }: Answer): JsonObject | undefined {
  if (directive.usage === "missing") return undefined;
  const output = usage.output + (ask.stream ? partsOf(ask.body) * tokensPerPart : 0);
  return {
    input_tokens: usage.input,
    input_tokens_details: {
      text_tokens: Math.max(0, usage.input - usage.image),
      image_tokens: usage.image,
    },
    output_tokens: output,
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
    total_tokens: usage.input + output,
  };
}

function frame(data: JsonObject): string {
  return `event: ${String(data["type"])}\ndata: ${JSON.stringify(data)}\n\n`;
}
