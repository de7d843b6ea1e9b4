import type { Located, Path } from "./problem.ts";

/** A config file with its variables replaced, and the line of each value. */
export interface Source extends Located {
  readonly value: unknown;
  /** Returns a scalar as written in the file, before variables are replaced: safe to quote in a message. */
  writtenAt(path: Path): string;
}

/** Limits for aliases, which can expand a small file into a huge value. Real files stay far below them. */
export const DEPTH_MAX = 32;
export const NODES_MAX = 200_000;

const NOT_LATIN1 = /[^\0-\xff]/;

/**
 * Copies a text, with one byte per character if its characters allow it. V8 stores a whole file in two bytes per
 * character if one letter needs them, and every substring of it too. A single such model name then makes each
 * record, log line and request body that contains it two bytes wide, and slow to copy.
 */
export function oneByte(text: string): string {
  return NOT_LATIN1.test(text) ? text : Buffer.from(text, "latin1").toString("latin1");
}
