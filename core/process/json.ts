/** A JSON object from outside: its values are narrowed by the guards below before they are used. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The array itself, or an empty one where the value is something else. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The object itself, or undefined where the value is something else. */
export function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** A whole number of 0 or more that counts something, or undefined. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The value of a JSON text, or undefined where it is not JSON. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Deepest nesting of lists and objects that the gateway takes. Deeper JSON than any client writes; it would
 * overflow the stack of what walks or writes it by recursion. Requests are checked once, before they are parsed.
 */
export const JSON_LEVELS_MAX = 200;

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Whether a JSON text nests its lists and objects deeper than `levels`, found without parsing it: 20 MB of
 * opening brackets take V8's parser 1.4 GB. Steps over strings, which most texts consist of, by searches for
 * their ends; of a text that is no JSON it may say anything.
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

/** Where the quote stands that ends the string whose text begins at `from`; -1 where there is none. */
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
