import { isAscii, isUtf8, transcode } from "node:buffer";
import { freeMemory } from "../process/free-memory.ts";
import { isObject, JSON_MAX, type JsonObject } from "../process/json.ts";
import { type JsonScan, scanJson } from "../process/json-scan.ts";
import { RawJson } from "../process/raw-json.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Turns } from "./turns.ts";

/** A JSON object that a thread has read or written. Plain data. */
export interface BodyParts {
  readonly bytes: Uint8Array;
  /** For each field: the quotes of its name, and the start and end of its value. */
  readonly places: readonly number[];
  /** The fields; empty lists for those of `unread`. */
  readonly fields: JsonObject;
  /** Lists that are bytes alone, by name: how many entries each has. */
  readonly unread: Readonly<Record<string, number>>;
  /** True if `read` must keep numbers in the arguments of tools as they came. */
  readonly keepsNumbers: boolean;
  readonly measured: Measured | undefined;
  readonly turns: Turns | undefined;
}

/** The path from a turn of Messages to the arguments of a tool, whose numbers stay as they came. */
const ARGUMENTS = ["content", "input"];

/** Bodies from this size on are parsed, translated and written in a thread. */
export const LONG_BODY_BYTES_MIN = 65_536;

type WrittenParts = Omit<BodyParts, "measured" | "turns">;

/** The results of plugins' measures, by name. */
interface Measured {
  /** The field that was measured alone; undefined if all were. */
  readonly field: string | undefined;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The bytes that came, and what they say. Copies of a body share it. */
interface Source {
  bytes: Buffer;
  readonly places: readonly number[];
  readonly names: readonly string[];
  readonly fields: JsonObject;
  /** Lists in `fields` whose entries are not those of the bytes yet. */
  readonly unread: Set<string>;
  readonly keepsNumbers: boolean;
  readonly measured: Measured | undefined;
  readonly turns: Turns | undefined;
}

/**
 * The JSON body of a request, in one of two forms: the bytes that came with changed fields, or an object that is written as
 * a whole. Fields that are not set go out as the bytes that came.
 */
export class RequestBody {
  /** How many bytes came; 0 if the object was made here. */
  readonly length: number;

  private constructor(
    private source: Source | undefined,
    private fields: JsonObject,
    length = 0,
  ) {
    this.length = source?.bytes.length ?? length;
  }

  /** Returns a body that is written from this object. */
  static of(fields: JsonObject): RequestBody {
    return new RequestBody(undefined, fields);
  }

  /** Returns a body that goes out as the bytes that came, which `fields` say. */
  static passed(
    bytes: Buffer,
    places: readonly number[],
    names: readonly string[],
    fields: JsonObject,
    keepsNumbers: boolean,
  ): RequestBody {
    const facts = {
      measured: undefined,
      turns: undefined,
      unread: new Set<string>(),
      keepsNumbers,
    };
    return new RequestBody({ bytes, places, names, fields, ...facts }, fields);
  }

  /** Returns the body that a thread has read or written. */
  static from(parts: BodyParts): RequestBody {
    const { bytes: own, places, fields, unread, keepsNumbers, measured, turns } = parts;
    const bytes = Buffer.from(own.buffer, own.byteOffset, own.byteLength);
    for (const name in unread) fields[name] = Array(unread[name]).fill(STAND_IN);
    const lists = new Set(Object.keys(unread));
    const facts = { keepsNumbers, measured, turns };
    const names = namesAt(bytes, places);
    return new RequestBody({ bytes, places, names, fields, unread: lists, ...facts }, fields);
  }

  /** True for a body that is parsed, translated and written in a thread. */
  get isLong(): boolean {
    return this.length >= LONG_BODY_BYTES_MIN;
  }

  /** Returns a field. Do not change it: `set` another value. */
  read(name: string): unknown {
    const { source, fields } = this;
    if (source?.unread.has(name) && fields[name] === source.fields[name]) readIn(source, name);
    return fields[name];
  }

  /** Sets a field, or removes it if the value is undefined. */
  set(name: string, value: unknown): void {
    if (value === undefined) {
      // `delete` would turn the object into a table, which is slow to read from then on.
      const { [name]: _, ...rest } = this.fields;
      this.fields = rest;
      return;
    }
    if (this.source?.fields === this.fields) this.fields = { ...this.fields };
    this.fields[name] = value;
  }

  /** Returns all fields. Do not change anything in them: `set` another value. */
  json(): JsonObject {
    for (const name of this.source?.unread ?? []) this.read(name);
    return this.fields;
  }

  /** Returns all fields, to code that changes something inside of one. From now on the body is written as a whole. */
  rewrite(): JsonObject {
    const fields = this.json();
    if (this.source) this.fields = { ...fields };
    this.source = undefined;
    return this.fields;
  }

  /** Returns the body as it is sent, in memory of its own. */
  bytes(): Buffer {
    const { source, fields } = this;
    if (!source) return Buffer.from(RawJson.write(fields));
    const { bytes, places, names, fields: before } = source;
    return spliced(bytes, places, names, before, fields, (name) => RawJson.write(fields[name]));
  }

  /** Returns a body whose fields can be set without a change of this one. */
  copy(): RequestBody {
    const { source, fields, length } = this;
    const isUnchanged = source?.fields === fields;
    return new RequestBody(source, isUnchanged ? fields : { ...fields }, length);
  }

  /** Sets the fields of `changed`, an edited copy of `outline`, and removes all others. */
  setAll(changed: JsonObject): this {
    // At once: each `set` of a client's thousands of fields would copy all others.
    const kept = Object.entries(changed).filter(([, value]) => value !== undefined);
    this.fields = Object.fromEntries(kept);
    return this;
  }

  /**
   * All fields, for code that looks at the structure of a body alone. In a list that is not read yet, stand-ins without
   * fields are in the place of the entries. Do not change it.
   */
  get outline(): JsonObject {
    return this.fields;
  }

  /** Returns true if the entries of the list are there as the client sent them. */
  isRead(name: string): boolean {
    return !this.source?.unread.has(name);
  }

  /** The facts about a conversation of which `outline` has only stand-ins; undefined for all others. */
  get turns(): Turns | undefined {
    return this.source && this.source.unread.size > 0 ? this.source.turns : undefined;
  }

  /** The measures that a thread has taken; undefined if it has not, or the field was read since. */
  get measured(): Measured | undefined {
    const { measured, unread } = this.source ?? {};
    return measured?.field === undefined || unread?.has(measured.field) ? measured : undefined;
  }

  /** The lists of which `outline` has only stand-ins. */
  get standIns(): string[] {
    return [...(this.source?.unread ?? [])];
  }

  /** True if numbers in the arguments of tools are `RawJson`. */
  get keepsNumbers(): boolean {
    return this.source?.keepsNumbers === true;
  }

  /** True if it goes out as the bytes that came, with changed fields. */
  get isBytes(): boolean {
    return this.source !== undefined;
  }

  /** Returns what a thread passes on of this body, so that a list stays bytes; undefined if it is written as a whole. */
  partsWithout(name: string): WrittenParts | undefined {
    const { source, fields } = this;
    const list = fields[name];
    if (!source || !Array.isArray(list)) return undefined;
    const unread = { [name]: list.length };
    const { bytes, places, keepsNumbers } = source;
    return { bytes, places, fields: { ...fields, [name]: [] }, unread, keepsNumbers };
  }

  /** Returns a body that has this field alone, to be measured. */
  alone(name: string): RequestBody {
    return new RequestBody(this.source, { [name]: this.fields[name] });
  }

  /** How many of the bytes that came are a field's. */
  bytesOf(name: string): number {
    return this.source ? listOf(this.source, name).length : 0;
  }

  /** Drops the entries of long lists, which take as much memory as the bytes. `read` brings them back. */
  shed(): void {
    const { source } = this;
    if (!source) return;
    for (const name of source.names) {
      const list = source.fields[name];
      if (!Array.isArray(list) || listOf(source, name).length < SHED_BYTES_MIN) continue;
      list.fill(STAND_IN);
      source.unread.add(name);
    }
  }

  /** Frees the memory of the bytes at once. Nothing may read the body, or a copy, after that. */
  free(): void {
    if (!this.source) return;
    freeMemory(this.source.bytes);
    this.source.bytes = NOTHING;
  }
}

/** Returns an object as a thread hands it to the main thread. Lists of these names stay bytes there. */
export function bodyParts(body: JsonObject, lists: ReadonlySet<string>): WrittenParts {
  const pieces: Buffer[] = [];
  const places: number[] = [];
  const fields: JsonObject = {};
  const unread: Record<string, number> = {};
  let size = 0;
  const add = (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
  };
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined) continue;
    add(Buffer.from(size === 0 ? "{" : ","));
    const open = size;
    add(Buffer.from(JSON.stringify(name)));
    places.push(open, size - 1);
    add(Buffer.from(":"));
    const json = Buffer.from(RawJson.write(value));
    places.push(size, size + json.length);
    add(json);
    const isLeft = Array.isArray(value) && lists.has(name);
    if (isLeft) unread[name] = value.length;
    fields[name] = isLeft ? [] : value;
  }
  add(Buffer.from(size === 0 ? "{}" : "}"));
  // Memory of its own, which a thread can hand over.
  const bytes = Buffer.from(new ArrayBuffer(size));
  let at = 0;
  for (const piece of pieces) at += piece.copy(bytes, at);
  return { bytes, places, fields, unread, keepsNumbers: true };
}

const NOTHING = Buffer.alloc(0);
const SHED_BYTES_MIN = 4_096;

/** Stands for an entry that is not read. To write one would send a provider something else than the client sent. */
class StandIn {
  toJSON(): never {
    throw new Error("an entry that was not read would have been sent");
  }
}
const STAND_IN = Object.freeze(new StandIn());

function listOf({ bytes, places, names }: Source, name: string): Buffer {
  const at = 4 * names.indexOf(name);
  return bytes.subarray(places[at + 2], places[at + 3]);
}

/** Puts the entries into the list itself, which copies of the body share. */
function readIn(source: Source, name: string): void {
  source.unread.delete(name);
  const list = source.fields[name];
  const json = textOf(listOf(source, name));
  const kept = source.keepsNumbers ? RawJson.parse(json, ARGUMENTS) : undefined;
  const entries = kept ?? JSON.parse(json);
  if (!Array.isArray(list) || !Array.isArray(entries)) throw new Error(`${name} is no list`);
  for (let at = 0; at < entries.length; at++) list[at] = entries[at];
}

/** Returns the names of the top-level fields, decoded, in their order. */
export function namesAt(bytes: Buffer, places: readonly number[]): string[] {
  const names: string[] = [];
  for (let at = 0; at < places.length; at += 4) {
    const raw = bytes.toString("utf8", (places[at] ?? 0) + 1, places[at + 1]);
    names.push(raw.includes("\\") ? JSON.parse(`"${raw}"`) : raw);
  }
  return names;
}

/**
 * Decodes bytes that are UTF-8. Text beyond ASCII by way of UTF-16, which takes a quarter of the time of `toString("utf8")`:
 * 13 µs instead of 51 for 16 KB of Vietnamese (Node 20).
 */
function textOf(bytes: Buffer): string {
  return isAscii(bytes)
    ? bytes.toString("latin1")
    : transcode(bytes, "utf8", "ucs2").toString("ucs2");
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Returns the bytes of the object `before`, changed to have the fields of `after`: fields with the same value keep their
 * bytes, others are set, added or deleted. Returns a copy even if nothing changes: the memory of both is freed at
 * different times. `fields` holds four numbers for each of `names`: the quotes of the name, and the start and end of the
 * value. `json` returns a field of `after`.
 */
function spliced(
  bytes: Buffer,
  fields: readonly number[],
  names: readonly string[],
  before: JsonObject,
  after: JsonObject,
  json: (name: string) => string,
): Buffer {
  const edits: Edit[] = [];
  let last = names.length - 1;
  while (last >= 0 && !has(after, names[last] ?? "")) last--;
  for (let at = 0; at <= last; at++) {
    const name = names[at] ?? "";
    const field = 4 * at;
    if (!has(after, name)) {
      // Up to the next name, with the comma between them.
      edits.push({ from: fields[field] ?? 0, to: fields[field + 4] ?? 0, text: "" });
    } else if (after[name] !== before[name]) {
      edits.push({ from: fields[field + 2] ?? 0, to: fields[field + 3] ?? 0, text: json(name) });
    }
  }
  const added: string[] = [];
  for (const name in after) {
    if (has(after, name) && !Object.hasOwn(before, name)) added.push(name);
  }
  if (added.length > 0 || last < names.length - 1) {
    // An object without fields has only whitespace after its brace.
    const start = fields[0] ?? bytes.indexOf("{") + 1;
    const text = added.map((name) => `${JSON.stringify(name)}:${json(name)}`).join(",");
    edits.push({
      from: last === -1 ? start : (fields[4 * last + 3] ?? 0),
      to: fields.at(-1) ?? start,
      text: last !== -1 && added.length > 0 ? `,${text}` : text,
    });
  }
  return edited(bytes, edits);
}

const has = (body: JsonObject, name: string) =>
  Object.hasOwn(body, name) && body[name] !== undefined;

/** Applies edits, which are in the order of the bytes. */
function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const { from, to, text } of edits) size += Buffer.byteLength(text) - (to - from);
  const out = Buffer.allocUnsafe(size);
  let at = 0;
  let copied = 0;
  for (const { from, to, text } of edits) {
    at += bytes.copy(out, at, copied, from);
    at += out.write(text, at);
    copied = to;
  }
  bytes.copy(out, at, copied);
  return out;
}

const MARK = Buffer.from("\ufeff");

/**
 * Reads a JSON body. Returns it, or the refusal that says what is wrong. The body keeps the bytes.
 *
 * A provider may take another of two fields with the same name than the one that is priced here. So a name that comes
 * twice at the top is refused; inside of a field, core writes the body again, with the one that was read. So it does with
 * numbers of more digits than a parser keeps: the bound counts each number alike, and a provider may read all digits.
 * Only in the arguments of tools, numbers stay as they came, since a tool may take them for an id, and names keep their order.
 */
export function readJson(
  came: Buffer,
  conversation?: string,
  isWritten = false,
): RequestBody | Refusal {
  // PowerShell 5.1 begins each file in UTF-8 with a mark.
  const hasMark = MARK.equals(came.subarray(0, MARK.length));
  const bytes = hasMark ? Buffer.from(came.subarray(MARK.length)) : came;
  if (!isUtf8(bytes))
    return refuse.badRequest("The request body is not UTF-8: send JSON in UTF-8.");
  const scan = scanJson(bytes);
  if (scan === "levels" || scan === "values") return EXCESS[scan];
  if (scan === "malformed") return notJson(bytes);
  const { places, hasLongNumber, hasUnusual } = scan;
  if (places.length > 4 * JSON_MAX.fields) return EXCESS.fields;
  let names: readonly string[];
  let fields: unknown;
  let kept: unknown;
  try {
    names = namesAt(bytes, places);
    const mayKeep = hasUnusual && conversation !== undefined && names.includes(conversation);
    kept = mayKeep ? RawJson.parse(textOf(bytes), [conversation, ...ARGUMENTS]) : undefined;
    fields = kept ?? parsedInParts(bytes, scan, names);
  } catch {
    return notJson(bytes);
  }
  if (!isObject(fields)) return refuse.badRequest("The request body must be a JSON object.");
  const hasTwice = namesIn(fields) !== scan.names;
  const seen = new Set<string>();
  const twice = hasTwice ? names.find((name) => seen.size === seen.add(name).size) : undefined;
  if (twice !== undefined) {
    const field = /^\w*/.exec(twice)?.[0] ?? "";
    return refuse.badRequest(`${field}: sent twice; send each field once`, field);
  }
  if (!isWritten && (hasTwice || hasLongNumber)) {
    const read = kept ?? JSON.parse(textOf(bytes));
    return readJson(Buffer.from(RawJson.write(read)), conversation, true);
  }
  return RequestBody.passed(bytes, places, names, fields, kept !== undefined);
}

/** Parses the bytes of an object as `JSON.parse` does, but its long lists part by part. Throws if they are not JSON. */
function parsedInParts(
  bytes: Buffer,
  { places, cuts }: JsonScan,
  names: readonly string[],
): unknown {
  const lists = new Map<string, unknown[]>();
  let text = "";
  let copied = 0;
  let cut = 0;
  for (let at = 0; cut < cuts.length && at < names.length; at++) {
    const [from = 0, to = 0] = places.slice(4 * at + 2, 4 * at + 4);
    if ((cuts[cut] ?? 0) > to) continue;
    const entries: unknown[] = [];
    let start = from + 1;
    for (; (cuts[cut] ?? to) < to; cut++) {
      addEntries(entries, bytes.subarray(start, cuts[cut]));
      start = (cuts[cut] ?? 0) + 1;
    }
    addEntries(entries, bytes.subarray(start, to - 1));
    lists.set(names[at] ?? "", entries);
    // An empty list stands in the place of the entries.
    text += textOf(bytes.subarray(copied, from + 1));
    copied = to - 1;
  }
  const fields: unknown = JSON.parse(text + textOf(bytes.subarray(copied)));
  if (isObject(fields)) for (const [name, entries] of lists) fields[name] = entries;
  return fields;
}

/** A part without an entry would hide a comma too many. */
function addEntries(entries: unknown[], part: Buffer): void {
  const added: unknown[] = JSON.parse(`[${textOf(part)}]`);
  if (added.length === 0) throw new SyntaxError("no entry between two commas");
  for (const entry of added) entries.push(entry);
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
  fields: refuse.badRequest(
    `The request body has too many fields: the limit is ${JSON_MAX.fields}.`,
  ),
};

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
