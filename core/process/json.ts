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
  // An exception takes 10 us, and a stream may have as many comments as events.
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Limits of the JSON of a request, checked once, before it is parsed. */
export const JSON_MAX = {
  /** Deepest nesting. Clients stay far below it; recursive code would overflow the stack on deeper JSON. */
  levels: 200,
  /**
   * Names and values together, of which a number counts a quarter. A conversation of 1,600 turns with tools has some 20,000.
   * Millions of tiny values would stop every other call for seconds while they are parsed.
   */
  values: 100_000,
  /** Fields at the top. Clients send some thirty, and each change of one may copy all. */
  fields: 1_000,
} as const;
