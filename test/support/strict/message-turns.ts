import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { type Facts, objects } from "./rule.ts";

/** Returns the content blocks of a message. Plain text counts as one block. */
export function blocksOf(turn: JsonObject): JsonObject[] {
  const { content } = turn;
  return typeof content === "string" ? [{ type: "text", text: content }] : objects(content);
}

export function isThinkingBlock({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/**
 * Returns the part of a request that thinking before the turn `at` is bound to: system, tools and
 * earlier turns. Deferred tools are no part of the prefix: the turn that loads one has its definition.
 * Source: Claude docs, tool use with prompt caching.
 */
export function prefixOf({ body, turns }: Facts, at: number): string {
  const earlier = turns.slice(0, at).map((turn) => ({
    role: turn["role"],
    content: blocksOf(turn).filter((block) => !isThinkingBlock(block)),
  }));
  const tools = objects(body["tools"]).filter((tool) => tool["defer_loading"] !== true);
  return JSON.stringify(withoutMarks([systemOf(body), tools, earlier]));
}

function systemOf({ system }: JsonObject): unknown {
  if (typeof system === "string") return system === "" ? [] : [{ type: "text", text: system }];
  return system ?? [];
}

/** Removes cache marks, which move with each call. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (name !== "cache_control") kept[name] = withoutMarks(inner);
  }
  return kept;
}
