import { countString, endOfString, valueAfter } from "./scan.ts";
import type { Delivered } from "./wire.ts";

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const SPACE = 32;

/** Values at a deeper level are skipped: no provider nests its text this deep. */
const LEVELS_MAX = 12;

/**
 * How the value of a key counts.
 *
 * - `text`: all text in it: a string, or the parts of a list.
 * - `thinking`: the same, but servers repeat it under other keys, so only the first one counts.
 * - `string`: only if it is a string.
 * - `json`: as the text that it is.
 * - `image`: one image. `media`: the bytes of its base64.
 */
type Rule = "text" | "thinking" | "string" | "json" | "image" | "media";

/** The keys of an object that count. All others are skipped. */
type Keys = readonly { readonly name: Buffer; readonly rule: Rule }[];

function keys(rules: Readonly<Record<string, Rule>>): Keys {
  return Object.entries(rules).map(([name, rule]) => ({ name: Buffer.from(name), rule }));
}

/** A part of a list, a tool call, or any other object inside of a value that counts. */
const INNER = keys({
  text: "text",
  function: "text",
  name: "text",
  arguments: "text",
  input: "text",
  custom: "text",
  thinking: "text",
  content: "text",
  summary: "text",
  transcript: "text",
  image_url: "image",
  result: "image",
  data: "media",
});

/** A delta or a message of Chat. */
export const CHAT_DELTA = keys({
  content: "text",
  tool_calls: "text",
  reasoning_content: "thinking",
  reasoning: "thinking",
  reasoning_details: "thinking",
  thinking: "thinking",
  refusal: "text",
  function_call: "text",
  audio: "text",
  images: "text",
});

/** A delta of Messages. The content of a compaction is a string. */
export const MESSAGES_DELTA = keys({
  text: "text",
  partial_json: "text",
  thinking: "text",
  content: "string",
});

/** A block of Messages. Results of tools are lists, which are no output of the model. */
export const MESSAGES_BLOCK = keys({
  name: "text",
  text: "text",
  thinking: "text",
  input: "json",
  content: "string",
});

/** An item of Responses as it begins, and as a whole. */
export const ITEM_BEGINNING = keys({ name: "text" });
export const WHOLE_ITEM = INNER;

/** Counts the objects that are values of the key `name` (with its quotes). */
export function countObjects(
  bytes: Buffer,
  name: Buffer,
  counted: Keys,
  delivered: Delivered,
): void {
  let at = bytes.indexOf(name);
  while (at !== -1) {
    const value = valueAfter(bytes, at + name.length);
    const isObject = value !== -1 && bytes[value] === OPEN_BRACE;
    const end = isObject ? countObject(bytes, value, counted, delivered, 0) : at + name.length;
    at = bytes.indexOf(name, end);
  }
}

/** Counts an object of a whole reply. */
export function countWhole(object: unknown, counted: Keys, delivered: Delivered): void {
  if (typeof object !== "object" || object === null) return;
  countObject(Buffer.from(JSON.stringify(object)), 0, counted, delivered, 0);
}

/** Returns the index after the object that begins at `from`. */
function countObject(
  bytes: Buffer,
  from: number,
  counted: Keys,
  delivered: Delivered,
  level: number,
): number {
  const { length } = bytes;
  let hasThought = false;
  let at = from + 1;
  while (at < length) {
    const byte = bytes[at];
    if (byte === CLOSE_BRACE) return at + 1;
    if (byte !== QUOTE) {
      at++;
      continue;
    }
    const key = at + 1;
    const keyEnd = endOfString(bytes, key);
    at = valueAfter(bytes, keyEnd + 1);
    if (at === -1) return length;
    const rule = ruleOf(bytes, key, keyEnd, counted);
    if (rule === undefined || (rule === "thinking" && hasThought)) at = skipValue(bytes, at);
    else {
      const before = delivered.asciiBytes + delivered.otherBytes;
      at = countValue(bytes, at, rule, delivered, level);
      if (rule === "thinking") hasThought = delivered.asciiBytes + delivered.otherBytes > before;
    }
  }
  return length;
}

function ruleOf(bytes: Buffer, from: number, to: number, counted: Keys): Rule | undefined {
  const length = to - from;
  search: for (const { name, rule } of counted) {
    if (name.length !== length) continue;
    for (let at = 0; at < length; at++) if (bytes[from + at] !== name[at]) continue search;
    return rule;
  }
  return undefined;
}

/** Returns the index after the value that begins at `at`. */
function countValue(
  bytes: Buffer,
  at: number,
  rule: Rule,
  delivered: Delivered,
  level: number,
): number {
  const first = bytes[at];
  if (rule === "json" || rule === "image" || rule === "media") {
    const end = skipValue(bytes, at);
    if (first !== QUOTE && first !== OPEN_BRACE) return end;
    // An empty string or object does not count.
    const size = end - at - 2;
    if (size <= 0) return end;
    if (rule === "image") delivered.images++;
    else if (rule === "media") delivered.mediaBytes += size;
    else delivered.asciiBytes += size;
    return end;
  }
  if (first === QUOTE) return countString(bytes, at + 1, delivered) + 1;
  if (rule === "string" || level >= LEVELS_MAX) return skipValue(bytes, at);
  if (first === OPEN_BRACE) return countObject(bytes, at, INNER, delivered, level + 1);
  if (first === OPEN_BRACKET) return countList(bytes, at + 1, rule, delivered, level + 1);
  return skipValue(bytes, at);
}

function countList(
  bytes: Buffer,
  from: number,
  rule: Rule,
  delivered: Delivered,
  level: number,
): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === CLOSE_BRACKET) return at + 1;
    if (byte === COMMA || byte === SPACE) at++;
    // A brace that closes nothing is not a value: text of a provider need not be JSON.
    else at = Math.max(at + 1, countValue(bytes, at, rule, delivered, level));
  }
  return at;
}

/** Returns the index after the value that begins at `from`, of any kind and depth. */
function skipValue(bytes: Buffer, from: number): number {
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1) + 1;
      if (depth === 0) return at;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // The end of the object around a number, or of the value itself.
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && byte === COMMA) return at;
    at++;
  }
  return at;
}
