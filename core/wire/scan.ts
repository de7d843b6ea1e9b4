import type { Delivered } from "../contract/protocol.ts";
import { asBuffer } from "../sse/bytes.ts";

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const SPACE = 32;
const BRACE = 123;

/** Returns true if the bytes begin with `prefix`. */
export function startsWith(raw: Uint8Array, prefix: Uint8Array): boolean {
  if (raw.length < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (raw[at] !== prefix[at]) return false;
  return true;
}

/**
 * Counts the bytes of every JSON string whose key is `name` (with its quotes) in `raw`. Returns
 * true if there was any text. An escape counts as the one character that it stands for.
 *
 * Neither decodes nor parses: a stream has one such string per event, and parsing each event would
 * cost more than forwarding it.
 */
export function countStrings(raw: Uint8Array, name: Buffer, delivered: Delivered): boolean {
  const bytes = asBuffer(raw);
  let counted = false;
  let at = bytes.indexOf(name);
  while (at !== -1) {
    const value = valueAfter(bytes, at + name.length);
    if (value !== -1 && bytes[value] === QUOTE) {
      const end = countString(bytes, value + 1, delivered);
      counted ||= end > value + 1;
      at = bytes.indexOf(name, end);
    } else at = bytes.indexOf(name, at + name.length);
  }
  return counted;
}

/**
 * Returns true if `raw` has the key `name` (with its quotes) whose value is an object: `"usage":{`
 * or `"usage": {`. Inside a JSON string the quotes are escaped, so content cannot imitate it.
 */
export function hasObject(raw: Uint8Array, name: Buffer): boolean {
  const bytes = asBuffer(raw);
  let at = bytes.indexOf(name);
  while (at !== -1) {
    const value = valueAfter(bytes, at + name.length);
    if (value !== -1 && bytes[value] === BRACE) return true;
    at = bytes.indexOf(name, at + name.length);
  }
  return false;
}

/**
 * Returns the index at which the value of a key begins; `from` is the end of the key. Returns -1 if
 * no colon follows.
 */
function valueAfter(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at++;
  if (bytes[at] !== COLON) return -1;
  at++;
  while (bytes[at] === SPACE) at++;
  return at;
}

function countString(bytes: Buffer, from: number, delivered: Delivered): number {
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
