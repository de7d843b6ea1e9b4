import { JSON_MAX } from "./json.ts";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const MINUS = 45;
const POINT = 46;
const DIGIT_ZERO = 48;
const DIGIT_NINE = 57;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Most strings are names and short words: for these, a loop is faster than the call of a native search. */
const LOOPED_BYTES = 64;
/** Maximum length of a number that `JSON.stringify` writes: -0.0000012345678901234567. */
const NUMBER_BYTES_MAX = 25;
/** V8 gives each text above 128 KB pages of its own, which take many times as long. A part is below it as UTF-16 too. */
const PART_BYTES = 32_768;
/** A number is read so much faster than other values. A call for embeddings may send 300,000 tokens as numbers. */
const VALUES_OF_NUMBER = 1 / 4;
/** A number of fewer bytes has no more digits than a parser keeps. */
const USUAL_BYTES_MAX = 16;

/** The positions of the fields of a JSON object in its bytes. Meaningless if the bytes are not JSON. */
export interface JsonScan {
  /** For each top-level field: the quotes of its name, and the start and end of its value. */
  readonly places: readonly number[];
  /** Commas between entries of top-level lists, at least `PART_BYTES` apart: there a long list can be read in parts. */
  readonly cuts: readonly number[];
  readonly names: number;
  /** True if a number has more digits than a parser keeps. */
  readonly hasLongNumber: boolean;
  /** True if `JSON.stringify` may write a number in another form than it came, or names in another order. */
  readonly hasUnusual: boolean;
}

/**
 * Reads a JSON text once, as bytes, and finds its top-level fields. Stops if there are too many levels or values. Does not
 * check the JSON's syntax: the caller parses it.
 */
export function scanJson(
  bytes: Buffer,
  levels: number = JSON_MAX.levels,
  values: number = JSON_MAX.values,
): JsonScan | "levels" | "values" | "malformed" {
  const { length } = bytes;
  const places: number[] = [];
  const cuts: number[] = [];
  /** The start of the latest top-level value, or of the part of its list after a cut. */
  let part = 0;
  let depth = 0;
  let count = 0;
  let names = 0;
  /** The position of the latest structure: the end of a string, a comma, a colon or a bracket. */
  let mark = -1;
  let hasLongNumber = false;
  let hasUnusual = false;
  let open = -1;
  let close = -1;
  /** True after a colon: the next string is a value, and the latest was its name. */
  let isValue = false;
  /** True while a top-level value has begun whose end is not known. */
  let isOpen = false;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const from = at + 1;
      let end = endOfShort(bytes, from);
      if (end < 0) end = endOfLong(bytes, -end);
      if (end === -1) return "malformed";
      open = at;
      close = end;
      at = end;
      mark = end;
    } else if (byte === COMMA || byte === COLON) {
      if (at - mark > 2 && !hasUnusual) hasUnusual = isUnusual(bytes, mark + 1, at);
      if (at - mark > NUMBER_BYTES_MAX && isLong(bytes, mark + 1, at)) hasLongNumber = true;
      mark = at;
      count += isDigit(bytes[at - 1]) ? VALUES_OF_NUMBER : 1;
      if (count > values) return "values";
      isValue = byte === COLON;
      if (isValue) {
        names++;
        if (isDigit(bytes[open + 1])) hasUnusual = true;
      }
      if (depth === 2 && at - part > PART_BYTES && !isValue && isInList(bytes[part])) {
        cuts.push(at);
        part = at;
      }
      if (depth !== 1) continue;
      if (isValue) {
        part = startOfValue(bytes, at + 1);
        places.push(open, close, part);
        isOpen = true;
      } else if (isOpen) {
        places.push(endOfValue(bytes, at));
        isOpen = false;
      }
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > levels) return "levels";
      if (++count > values) return "values";
      isValue = false;
      mark = at;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (at - mark > 2 && !hasUnusual) hasUnusual = isUnusual(bytes, mark + 1, at);
      if (at - mark > NUMBER_BYTES_MAX && isLong(bytes, mark + 1, at)) hasLongNumber = true;
      mark = at;
      if (--depth === 0 && isOpen) {
        places.push(endOfValue(bytes, at));
        isOpen = false;
      }
    }
  }
  return { places, cuts, names, hasLongNumber, hasUnusual };
}

/**
 * Returns the limit that a JSON text exceeds; undefined if none. Does not parse: 20 MB of opening brackets cost V8's
 * parser 1.4 GB. The result has no meaning if the text is not JSON.
 */
export function excessOf(
  text: Buffer,
  levels: number = JSON_MAX.levels,
  values: number = JSON_MAX.values,
): "levels" | "values" | undefined {
  const scan = scanJson(text, levels, values);
  return scan === "levels" || scan === "values" ? scan : undefined;
}

/** Returns true if a top-level value, or the part of it after a cut, begins as one of a list does. */
const isInList = (byte: number | undefined) => byte === OPEN_LIST || byte === COMMA;

/** `JSON.stringify` writes names that are whole numbers first. */
function isDigit(byte = 0): boolean {
  return byte >= DIGIT_ZERO && byte <= DIGIT_NINE;
}

/** Returns true if the text between two marks is longer than a number, without the space around it. */
function isLong(bytes: Buffer, from: number, to: number): boolean {
  return endOfValue(bytes, to) - startOfValue(bytes, from) > NUMBER_BYTES_MAX;
}

/** Returns true if the text between two marks is a number with an exponent, a needless sign or zero, or many digits. */
function isUnusual(bytes: Buffer, before: number, to: number): boolean {
  const from = startOfValue(bytes, before);
  const first = bytes[from] ?? 0;
  if (from >= to || first > DIGIT_NINE || first < MINUS) return false;
  let hasPoint = false;
  let at = from;
  for (; at < to && (bytes[at] ?? 0) > 32; at++) {
    const byte = bytes[at] ?? 0;
    if (byte > DIGIT_NINE) return true;
    if (byte === POINT) hasPoint = true;
  }
  if (at - from >= USUAL_BYTES_MAX) return true;
  const isZero = bytes[at - 1] === DIGIT_ZERO;
  return isZero && (hasPoint || (first === MINUS && at - from === 2));
}

/** Returns the index of the closing quote if it is near. Otherwise returns how far it looked, as a negative number. */
function endOfShort(bytes: Buffer, from: number): number {
  const stop = Math.min(from + LOOPED_BYTES, bytes.length);
  let at = from;
  while (at < stop) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return -at;
}

/** After this many escaped quotes in a row, a loop reads the next bytes. */
const MISSES_MAX = 5;
const BYTES_AFTER_MISSES = 4_096;

/**
 * Returns the index of the quote that ends a string, or -1. `from` is inside of it, at the start of a character. Long
 * strings are searched by the machine's own instructions.
 */
export function endOfLong(bytes: Buffer, from: number): number {
  let at = from;
  let misses = 0;
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return -1;
    let before = quote;
    while (before > at && bytes[before - 1] === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote;
    at = quote + 1;
    if (++misses < MISSES_MAX) continue;
    misses = 0;
    const stop = Math.min(at + BYTES_AFTER_MISSES, bytes.length);
    while (at < stop) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      at += byte === BACKSLASH ? 2 : 1;
    }
  }
}

/** The whitespace of JSON is four characters; no value begins or ends with another one below 33. */
function startOfValue(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] ?? 0) <= 32) at++;
  return at;
}

function endOfValue(bytes: Buffer, end: number): number {
  let at = end;
  while (at > 0 && (bytes[at - 1] ?? 0) <= 32) at--;
  return at;
}
