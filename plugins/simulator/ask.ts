/** A JSON object nobody has looked into yet. */
export type JsonObject = { readonly [key: string]: unknown };

/** What the simulator needs to know of a request, whatever protocol it came in. */
export interface Ask {
  readonly model: string;
  readonly stream: boolean;
  /** The text after the last assistant turn: where a directive may stand. */
  readonly prompt: string;
  readonly inputTokens: number;
  /** The part of `inputTokens` that images cost. */
  readonly imageTokens: number;
  readonly maxTokens: number | undefined;
  /** Texts at which the output stops. */
  readonly stops: readonly string[];
  /** Choices of a chat call, else 1. */
  readonly choices: number;
  /** Images an image call wants, else 0. */
  readonly images: number;
  /** Chat: `stream_options.include_usage`. */
  readonly includeUsage: boolean;
  readonly body: JsonObject;
}

/** Why a request is wrong, as a real provider would say it with a 400. */
export interface Problem {
  readonly problem: string;
  readonly param: string | null;
}

/** Tokens an image costs as input, whatever its size. */
export const tokensPerImageRead = 256;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON object in a body, undefined for anything else. */
export function readJson(bytes: Buffer): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString());
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

export function isProblem(value: object): value is Problem {
  return "problem" in value;
}

export function problem(message: string, param: string | null = null): Problem {
  return { problem: message, param };
}

export function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

export function positiveInteger(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}

export function strings(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string" && item !== "");
}

/** What a conversation says and costs. */
interface Reading {
  readonly prompt: string;
  readonly inputTokens: number;
  readonly imageTokens: number;
}

/**
 * Reads the turns of any of the three chat protocols. Input is one token per 4 bytes of text (system,
 * turns, and the tools as JSON) and 256 per image, rounded up once.
 */
export function readTurns(turns: readonly unknown[], system: unknown, tools: unknown): Reading {
  let bytes = Buffer.byteLength(textOf(system));
  let images = 0;
  for (const turn of turns) {
    bytes += Buffer.byteLength(textOf(turn));
    images += imagesIn(turn);
  }
  if (Array.isArray(tools) && tools.length > 0) bytes += Buffer.byteLength(JSON.stringify(tools));
  const imageTokens = images * tokensPerImageRead;
  return { prompt: lastTurn(turns), inputTokens: Math.ceil(bytes / 4) + imageTokens, imageTokens };
}

/** The user's and the tools' text after the last assistant turn; a trailing prefill is passed over. */
function lastTurn(turns: readonly unknown[]): string {
  let end = turns.length;
  while (end > 0 && isAssistant(turns[end - 1])) end--;
  let start = end;
  while (start > 0 && !isAssistant(turns[start - 1])) start--;
  return turns
    .slice(start, end)
    .filter(
      (turn) => !isObject(turn) || (turn["role"] !== "system" && turn["role"] !== "developer"),
    )
    .map(textOf)
    .join("\n");
}

function isAssistant(turn: unknown): boolean {
  if (!isObject(turn)) return false;
  if (turn["role"] !== undefined) return turn["role"] === "assistant";
  return turn["type"] === "function_call" || turn["type"] === "reasoning";
}

/** Every text in a content value: a string, a list of parts, a part, a tool's result. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).join("");
  if (!isObject(content)) return "";
  return textOf(content["text"] ?? content["content"] ?? content["output"]);
}

function imagesIn(content: unknown): number {
  if (Array.isArray(content)) {
    return content.reduce((sum: number, part) => sum + imagesIn(part), 0);
  }
  if (!isObject(content)) return 0;
  const type = content["type"];
  if (type === "image" || type === "image_url" || type === "input_image") return 1;
  return imagesIn(content["content"]);
}
