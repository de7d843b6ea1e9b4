import { endOfLong } from "../process/json-scan.ts";
import { asBuffer } from "../sse/bytes.ts";
import type { Delivered } from "./wire.ts";

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const SPACE = 32;
const BRACE = 123;
/** Strings up to this length are searched byte by byte: a native call costs as much. */
const LOOPED_BYTES = 64;

/** Returns true if the bytes begin with `prefix`. */
export function startsWith(raw: Uint8Array, prefix: Uint8Array): boolean {
  if (raw.length < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (raw[at] !== prefix[at]) return false;
  return true;
}

/**
 * Returns true if `raw` has the key `name` (with its quotes) whose value is an object: `"usage":{` or `"usage": {`.
 * Without the second quote, `name` is the beginning of a key. Inside a JSON string the quotes are escaped, so content
 * cannot imitate it.
 */
export function hasObject(raw: Uint8Array, name: Buffer): boolean {
  return hasValue(raw, name, BRACE);
}

/** As `hasObject`, of a value that is an object or a string that is not empty. */
export function hasObjectOrText(raw: Uint8Array, name: Buffer): boolean {
  return hasValue(raw, name, BRACE, QUOTE);
}

/** `first`, `other`: the bytes with which the value may begin. */
function hasValue(raw: Uint8Array, name: Buffer, first: number, other = first): boolean {
  const bytes = asBuffer(raw);
  const isWhole = name[name.length - 1] === QUOTE;
  let at = bytes.indexOf(name);
  while (at !== -1) {
    const end = at + name.length;
    const value = valueAfter(bytes, isWhole ? end : endOfString(bytes, end) + 1);
    const byte = value === -1 ? -1 : bytes[value];
    const isEmpty = byte === QUOTE && bytes[value + 1] === QUOTE;
    if ((byte === first || byte === other) && !isEmpty) return true;
    at = bytes.indexOf(name, at + name.length);
  }
  return false;
}

/**
 * Returns the index at which the value of a key begins; `from` is the end of the key. Returns -1 if no colon follows.
 */
export function valueAfter(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at++;
  if (bytes[at] !== COLON) return -1;
  at++;
  while (bytes[at] === SPACE) at++;
  return at;
}

/** Counts the string that is the value of a key. `from` is the end of the key. */
export function countText(bytes: Buffer, from: number, delivered: Delivered): void {
  const value = valueAfter(bytes, from);
  if (value !== -1 && bytes[value] === QUOTE) countString(bytes, value + 1, delivered);
}

/** Returns the index of the quote that ends the string whose text begins at `from`. */
export function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
    else if (at - from === LOOPED_BYTES) {
      const end = endOfLong(bytes, at + 1);
      return end === -1 ? bytes.length : end;
    }
  }
  return at;
}

/**
 * Counts the text of a string that begins at `from`. An escape counts as the one character that it stands for. Returns
 * the index of its end quote.
 */
export function countString(bytes: Buffer, from: number, delivered: Delivered): number {
  let ascii = 0;
  let other = 0;
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? QUOTE;
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) {
      if (bytes[at + 1] === 0x75) {
        // Writers use \uXXXX for characters outside ASCII.
        other += 2;
        at += 5;
      } else {
        ascii++;
        at++;
      }
    } else if (byte < 0x80) ascii++;
    else other++;
  }
  delivered.asciiBytes += ascii;
  delivered.otherBytes += other;
  return at;
}
