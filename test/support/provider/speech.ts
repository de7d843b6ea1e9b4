import type { JsonObject } from "../../../core/process/json.ts";
import { textOr } from "../../../plugins/simulator/ask.ts";
import { countTokens } from "../../../plugins/simulator/text.ts";
import type { Answer } from "./answer.ts";
import { type Ask, type Problem, problem } from "./ask.ts";
import { openaiError } from "./openai-error.ts";
import { eventStream, type Protocol } from "./protocol.ts";

/**
 * OpenAI's text to speech. Sends audio bytes, or events with base64 audio for `stream_format:
 * "sse"`.
 */
export const speech: Protocol = {
  path: "/v1/audio/speech",
  idHeader: "x-request-id",
  read,
  // The real service always sends audio in pieces.
  whole: () => "",
  alwaysStreams: true,
  events: (answer) => (asEvents(answer.ask) ? events(answer) : audio(answer)),
  streamType: ({ ask, directive }) =>
    asEvents(ask)
      ? eventStream
      : (directive.audio_type ?? contentTypes.get(format(ask)) ?? "application/octet-stream"),
  error: openaiError,
  errorEvent: (answer) =>
    asEvents(answer.ask) ? `event: error\ndata: ${openaiError(500, answer.directive)}\n\n` : "",
  ping: ": ping\n\n",
};

const contentTypes: ReadonlyMap<string, string> = new Map([
  ["mp3", "audio/mpeg"],
  ["opus", "audio/opus"],
  ["aac", "audio/aac"],
  ["flac", "audio/flac"],
  ["wav", "audio/wav"],
  ["pcm", "audio/pcm"],
]);

/** A silent frame of 26 ms: MPEG-1 layer 3, 128 kbit/s, 44.1 kHz. */
const silentFrame = Buffer.concat([Buffer.from("fffb9064", "hex")], 418);

/** Ten frames per write. */
const pieceBytes = silentFrame.length * 10;
const silence = Buffer.alloc(pieceBytes, silentFrame);

function read(body: JsonObject): Ask | Problem {
  const { model, input, voice } = body;
  if (typeof model !== "string") return problem("Missing required parameter: 'model'.", "model");
  if (typeof input !== "string") return problem("Missing required parameter: 'input'.", "input");
  if (voice === undefined) return problem("Missing required parameter: 'voice'.", "voice");
  return {
    model,
    stream: false,
    prompt: input,
    inputTokens: countTokens(input),
    imageTokens: 0,
    maxTokens: undefined,
    stops: [],
    choices: 1,
    images: 0,
    includeUsage: true,
    body,
  };
}

/** Yields the audio, or the echo instead. All formats get the same mp3 bytes. */
function* audio({ directive, text }: Answer): Generator<Uint8Array> {
  if (directive.echo === true) {
    yield Buffer.from(text);
    return;
  }
  let left = directive.audio_bytes ?? pieceBytes;
  for (; left > pieceBytes; left -= pieceBytes) yield silence;
  if (left > 0) yield silence.subarray(0, left);
}

function* events(answer: Answer): Generator<string> {
  for (const piece of audio(answer)) {
    const audio = Buffer.from(piece).toString("base64");
    yield frame({ type: "speech.audio.delta", audio });
  }
  const { input, output } = answer.usage;
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  yield frame({
    type: "speech.audio.done",
    usage: answer.directive.usage === "missing" ? undefined : usage,
  });
}

function asEvents({ body }: Ask): boolean {
  return body["stream_format"] === "sse";
}

function format({ body }: Ask): string {
  return textOr(body["response_format"], "mp3");
}

function frame(data: JsonObject): string {
  return `event: ${String(data["type"])}\ndata: ${JSON.stringify(data)}\n\n`;
}
