import { isAscii, isUtf8 } from "node:buffer";
import { isObject, JSON_MAX, type JsonObject } from "../process/json.ts";
import { scanJson } from "../process/json-scan.ts";
import { RawJson } from "../process/raw-json.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { ARGUMENTS, namesAt, RequestBody, textOf } from "./request-body.ts";

/**
 * Reads a JSON body. Returns it, or the refusal that says what is wrong. The body keeps the bytes.
 *
 * A provider may take another of two fields with the same name than the one that is priced here. So a name that comes
 * twice at the top is refused; inside of a field, core writes the body again, with the one that was read. So it does with
 * numbers of more digits than a parser keeps: the bound counts each number alike, and a provider may read all digits.
 * Only in the arguments of tools, numbers stay as they came, since a tool may take them for an id, and names keep their order.
 *
 * Most bytes of a request are its `conversation`, and a call that is passed on needs only its structure. So its texts are
 * decoded as Latin-1, in a third of the time, until a plugin reads the field.
 */
export function readJson(
  bytes: Buffer,
  conversation?: string,
  isWritten = false,
): RequestBody | Refusal {
  if (!isUtf8(bytes))
    return refuse.badRequest("The request body is not UTF-8: send JSON in UTF-8.");
  const scan = scanJson(bytes);
  if (scan === "levels" || scan === "values") return EXCESS[scan];
  if (scan === "malformed") return notJson(bytes);
  const { places, hasLongNumber, hasUnusual } = scan;
  let names: readonly string[];
  let fields: unknown;
  let highBytes: number | undefined;
  let kept: unknown;
  try {
    names = namesAt(bytes, places);
    const at = 4 * names.indexOf(conversation ?? "");
    const list = at < 0 ? bytes : bytes.subarray(places[at + 2], places[at + 3]);
    const mayKeep = hasUnusual && at >= 0 && conversation !== undefined;
    kept = mayKeep ? RawJson.parse(textOf(bytes), [conversation, ...ARGUMENTS]) : undefined;
    highBytes = at < 0 || kept ? undefined : highBytesIn(list);
    fields =
      kept ??
      (highBytes === undefined
        ? JSON.parse(textOf(bytes))
        : withLatin1(bytes, list, conversation ?? "", scan.commas));
  } catch {
    return notJson(bytes);
  }
  if (!isObject(fields)) return refuse.badRequest("The request body must be a JSON object.");
  const hasTwice = namesIn(fields) !== scan.names;
  const twice = hasTwice ? names.find((name, at) => names.indexOf(name) !== at) : undefined;
  if (twice !== undefined) {
    const field = /^\w*/.exec(twice)?.[0] ?? "";
    return refuse.badRequest(`${field}: sent twice; send each field once`, field);
  }
  if (!isWritten && (hasTwice || hasLongNumber)) {
    const read = kept ?? JSON.parse(textOf(bytes));
    return readJson(Buffer.from(RawJson.write(read)), conversation, true);
  }
  const latin1 = { name: conversation ?? "", highBytes: highBytes ?? 0 };
  return RequestBody.passed(bytes, places, names, fields, {
    latin1: highBytes === undefined ? undefined : latin1,
    keepsNumbers: kept !== undefined,
  });
}

/** The parser's own message quotes the text, which must not be in an error or a log. */
function notJson(bytes: Buffer): Refusal {
  return refuse.badRequest(
    bytes.length === 0
      ? "The request body is empty; JSON is required."
      : "The request body is not valid JSON.",
  );
}

const EXCESS = {
  levels: refuse.badRequest(
    `The request body is nested too deeply: the limit is ${JSON_MAX.levels} levels.`,
  ),
  values: refuse.tooLarge(
    `The request body has too many names and values: the limit is ${JSON_MAX.values}.`,
  ),
};

const OPEN_LIST = 91;
const CLOSE_LIST = 93;
/** A shorter list is decoded at once. */
const LATIN1_BYTES_MIN = 1_024;

const EACH = 0x01010101;
const EACH_HIGH = 0x80808080 | 0;
const EACH_BACKSLASH = 0x5c5c5c5c;
const BACKSLASH = 92;
const LETTER_U = 117;

/**
 * Counts the bytes of characters beyond ASCII in a long list, four at a time. Returns undefined if it should not be read as
 * Latin-1: it is short or all ASCII, or an escape may be of a character that Latin-1 lacks. A byte that was a backslash
 * becomes 0, from which subtracting borrows the high bit; `graphics.stanford.edu/~seander/bithacks.html`, "haszero".
 */
function highBytesIn(list: Buffer): number | undefined {
  const { buffer, byteOffset, length } = list;
  if (list[0] !== OPEN_LIST || list[length - 1] !== CLOSE_LIST) return undefined;
  if (length < LATIN1_BYTES_MIN || isAscii(list)) return undefined;
  const before = (4 - (byteOffset & 3)) & 3;
  const words = new Int32Array(buffer, byteOffset + before, (length - before) >> 2);
  const behind = before + 4 * words.length;
  let count = 0;
  for (const [from, to] of [[0, before] as const, [behind, length] as const]) {
    for (let at = from; at < to; at++) {
      count += (list[at] ?? 0) >> 7;
      if (isEscape(list, at)) return undefined;
    }
  }
  for (let at = 0; at < words.length; at++) {
    const four = words[at] ?? 0;
    count += Math.imul((four >>> 7) & EACH, EACH) >>> 24;
    const backslash = four ^ EACH_BACKSLASH;
    if (((backslash - EACH) & ~backslash & EACH_HIGH) === 0) continue;
    const from = before + 4 * at;
    for (let next = from; next < from + 4; next++) if (isEscape(list, next)) return undefined;
  }
  return count;
}

const isEscape = (list: Buffer, at: number) => list[at] === BACKSLASH && list[at + 1] === LETTER_U;

/** V8 keeps a text of more than 128 KB in memory of its own, which takes longer to get than such a text to parse. */
const PARSED_BYTES = 65_536;

function withLatin1(bytes: Buffer, list: Buffer, name: string, commas: readonly number[]): unknown {
  const from = list.byteOffset - bytes.byteOffset;
  const before = bytes.toString("utf8", 0, from);
  const behind = bytes.toString("utf8", from + list.length);
  const fields: unknown = JSON.parse(`${before}[]${behind}`);
  if (isObject(fields)) fields[name] = entriesOf(bytes, from, from + list.length, commas);
  return fields;
}

/** Parses a list in parts of several entries. `from`: its first bracket; `to`: behind its last. */
function entriesOf(bytes: Buffer, from: number, to: number, commas: readonly number[]): unknown[] {
  const entries: unknown[] = [];
  let begun = from + 1;
  const parse = (end: number) => {
    const part: unknown[] = JSON.parse(`[${bytes.toString("latin1", begun, end)}]`);
    if (part.length === 0 && begun > from + 1) throw new SyntaxError("a comma is too many");
    for (const entry of part) entries.push(entry);
    begun = end + 1;
  };
  for (const comma of commas) if (comma - begun >= PARSED_BYTES && comma < to) parse(comma);
  parse(to - 1);
  return entries;
}

/** Counts the names of all objects. Of a name that comes twice in one object, the parser has kept one. */
function namesIn(tree: JsonObject): number {
  let count = 0;
  const stack: object[] = [tree];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const entry of node) if (typeof entry === "object" && entry !== null) stack.push(entry);
      continue;
    }
    if (node instanceof RawJson) continue;
    const object = node as JsonObject;
    for (const name in object) {
      count++;
      const value = object[name];
      if (typeof value === "object" && value !== null) stack.push(value);
    }
  }
  return count;
}
