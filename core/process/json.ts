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

/**
 * Most names and values of a request, together. A conversation of 1,600 turns with tools has some 20,000. A body of
 * millions of tiny values would stop every other call for seconds while it is parsed.
 */
export const JSON_VALUES_MAX = 100_000;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;

/**
 * Returns what a JSON text has too much of, undefined if nothing. Does not parse: 20 MB of opening brackets cost V8's
 * parser 1.4 GB. Skips strings by searching for their end quote, since most of a request is strings. The result has no
 * meaning if the text is not JSON.
 */
export function excessOf(
  text: Buffer,
  levels = JSON_LEVELS_MAX,
  values = JSON_VALUES_MAX,
): "levels" | "values" | undefined {
  let depth = 0;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = endOfString(text, at + 1);
      if (at === -1) return undefined;
    } else if (byte === COMMA || byte === COLON) {
      if (++count > values) return "values";
    } else if (byte === 91 || byte === 123) {
      if (++depth > levels) return "levels";
      if (++count > values) return "values";
    } else if (byte === 93 || byte === 125) depth--;
  }
  return undefined;
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
