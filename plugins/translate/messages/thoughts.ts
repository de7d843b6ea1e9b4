import { objectOf } from "../../../core/plugin/index.ts";

/** The types of blocks of thinking. */
export const THOUGHTS: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking"]);

export function isThought(block: unknown): boolean {
  return THOUGHTS.has(objectOf(block)?.["type"]);
}
