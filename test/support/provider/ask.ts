import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { imagesIn, TOKENS_PER_IMAGE, textOf } from "../../../plugins/simulator/ask.ts";

/** A parsed request of any protocol. */
export interface Ask {
  readonly model: string;
  readonly stream: boolean;
  /** The text after the last assistant turn. May contain a directive. */
  readonly prompt: string;
  readonly inputTokens: number;
  /** The part of `inputTokens` that is for images. */
  readonly imageTokens: number;
  readonly maxTokens: number | undefined;
  /** Stop sequences. */
  readonly stops: readonly string[];
  /** `n` of a chat call, otherwise 1. */
  readonly choices: number;
  /** Number of images of an image call, otherwise 0. */
  readonly images: number;
  /** Chat: `stream_options.include_usage`. */
  readonly includeUsage: boolean;
  readonly body: JsonObject;
}

/** Why a request is invalid, in the words of a real provider. Sent with a 400. */
export interface Problem {
  readonly problem: string;
  readonly param: string | null;
}

/** Parses a body. Returns undefined if it is not a JSON object. */
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

export function strings(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string" && item !== "");
}

/** The prompt of a conversation and its token counts. */
interface Reading {
  readonly prompt: string;
  readonly inputTokens: number;
  readonly imageTokens: number;
}

/**
 * Reads the turns of any of the three chat protocols. Counts one input token per 4 bytes of text
 * (system, turns, and the tools as JSON), rounded up once, and 256 per image.
 */
export function readTurns(turns: readonly unknown[], system: unknown, tools: unknown): Reading {
  let bytes = Buffer.byteLength(textOf(system));
  let images = 0;
  for (const turn of turns) {
    bytes += Buffer.byteLength(textOf(turn));
    images += imagesIn(turn);
  }
  if (Array.isArray(tools) && tools.length > 0) bytes += Buffer.byteLength(JSON.stringify(tools));
  const imageTokens = images * TOKENS_PER_IMAGE;
  return { prompt: lastTurn(turns), inputTokens: Math.ceil(bytes / 4) + imageTokens, imageTokens };
}

/** Returns the text of users and tools after the last assistant turn. Skips a trailing prefill. */
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
  const { type } = turn;
  return type === "function_call" || type === "custom_tool_call" || type === "reasoning";
}
