/** A JSON object from outside. Narrow its values with the guards below before using them. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the array, or an empty one if the value is not an array. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the object, or undefined if the value is not a JSON object. */
export function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** Returns the number if it is a safe integer of at least 0, or else undefined. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Parses JSON. Returns undefined instead of throwing if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Deepest nesting of lists and objects in a request. Clients stay far below it; recursive code would overflow the
 * stack on deeper JSON. Checked once per request, before the body is parsed.
 */
export const JSON_LEVELS_MAX = 200;

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Returns true if a JSON text nests lists and objects deeper than `levels`. Does not parse: 20 MB of opening
 * brackets cost V8's parser 1.4 GB. Skips strings by searching for their end quote, since most of a request is
 * strings. The result has no meaning if the text is not JSON.
 */
export function nestsDeeperThan(levels: number, text: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = endOfString(text, at + 1);
      if (at === -1) return false;
    } else if (byte === 91 || byte === 123) {
      if (++depth > levels) return true;
    } else if (byte === 93 || byte === 125) depth--;
  }
  return false;
}

/** Returns the index of the quote that ends the string whose text begins at `from`, or -1. */
function endOfString(text: Buffer, from: number): number {
  let quote = text.indexOf(QUOTE, from);
  while (quote !== -1) {
    let before = quote;
    while (before > from && text[before - 1] === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote;
    quote = text.indexOf(QUOTE, quote + 1);
  }
  return -1;
}
