import type { JsonObject } from "../../../core/process/json.ts";
import { countTokens } from "../../../plugins/simulator/text.ts";
import type { Answer } from "./answer.ts";
import { type Ask, type Problem, problem } from "./ask.ts";
import { openaiError } from "./openai-error.ts";
import { eventStream, type Protocol } from "./protocol.ts";

const DIMENSIONS = 8;

/** OpenAI's embeddings. Source: the declarations of the `openai` package. */
export const embeddings: Protocol = {
  path: "/v1/embeddings",
  idHeader: "x-request-id",
  read,
  whole,
  events: () => [],
  alwaysStreams: false,
  streamType: () => eventStream,
  error: openaiError,
  errorEvent: () => "",
  ping: "",
};

function textsOf({ input }: JsonObject): readonly unknown[] {
  if (!Array.isArray(input)) return [input];
  return typeof input[0] === "number" ? [input] : input;
}

function read(body: JsonObject): Ask | Problem {
  const { model } = body;
  if (typeof model !== "string") return problem("Missing required parameter: 'model'.", "model");
  const texts = textsOf(body);
  const prompt = texts.filter((text) => typeof text === "string").join("\n");
  const tokens = texts.map((text) =>
    Array.isArray(text) ? text.length : countTokens(String(text)),
  );
  return {
    model,
    stream: false,
    prompt,
    inputTokens: tokens.reduce((sum, count) => sum + count, 0),
    imageTokens: 0,
    maxTokens: undefined,
    stops: [],
    choices: 1,
    images: 0,
    includeUsage: true,
    body,
  };
}

function whole({ ask, id, usage, directive }: Answer): string {
  const { body, model } = ask;
  const seed = Number.parseInt(id.slice(0, 4), 16);
  const size = typeof body["dimensions"] === "number" ? body["dimensions"] : DIMENSIONS;
  const numbers = Float32Array.from({ length: size }, (_, at) => Math.sin(seed + at));
  const embedding =
    body["encoding_format"] === "base64"
      ? Buffer.from(numbers.buffer).toString("base64")
      : [...numbers];
  const data = textsOf(body).map((_, index) => ({ object: "embedding", index, embedding }));
  const report = { prompt_tokens: usage.input, total_tokens: usage.input };
  return JSON.stringify({
    ...{ object: "list", model, data },
    ...(directive.usage !== "missing" && { usage: report }),
  });
}
