import { freeMemory } from "./free-memory.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { JsonScan } from "./json-scan.ts";
import { hasPlaceholder, LeftOut, NONE_LEFT_OUT } from "./left-out.ts";
import { spliced } from "./splice.ts";
import { headOf, readInto, type Unread } from "./unread-list.ts";
import { withoutTexts } from "./without-texts.ts";

/**
 * Parsing a short body as a whole costs less than measuring its texts. A longer one is not kept a second time, as text:
 * a call may stream for minutes.
 */
export const SHORT_BYTES_MAX = 4_096;
const NOTHING = Buffer.alloc(0);

interface Parts {
  readonly left: LeftOut;
  readonly ascii: string | undefined;
  readonly repeatsNames: boolean;
  readonly hasLongNumber: boolean;
  readonly list: Unread | undefined;
}

/**
 * A JSON object that was not parsed as a whole: long texts are left out of its tree, and a placeholder stands for each.
 * Reading the tree costs little, however long the texts are. Fields that are not changed are written as the bytes that
 * came.
 */
export class Outline {
  private came: Buffer;
  /** The object, with stand-ins for the entries of an unread list. Do not change it. */
  readonly head: JsonObject;
  private list: Unread | undefined;
  private fields: readonly number[];
  /**
   * True if an object in it has two fields of one name. The tree has one of the two values, and a provider that gets
   * the bytes may read the other.
   */
  readonly repeatsNames: boolean;
  /** True if a number has more digits than the tree keeps. */
  readonly hasLongNumber: boolean;
  private left: LeftOut;
  /** The bytes of a short body as text if all are there and each is a character. */
  private readonly ascii: string | undefined;
  private handedOut = false;
  private isRewritten = false;
  private isEdited = false;
  /** The object that came, once the tree has other top-level fields. */
  private before: JsonObject | undefined = undefined;

  private constructor(bytes: Buffer, head: JsonObject, fields: readonly number[], parts: Parts) {
    this.came = bytes;
    this.head = head;
    this.fields = fields;
    this.left = parts.left;
    this.ascii = parts.ascii;
    this.repeatsNames = parts.repeatsNames;
    this.hasLongNumber = parts.hasLongNumber;
    this.list = parts.list;
  }

  /** Returns undefined if the bytes, which must be UTF-8, are not JSON; the value if it is not an object. */
  static of(bytes: Buffer, scan: JsonScan): Outline | { readonly value: unknown } | undefined {
    const json = withoutTexts(bytes, scan.texts);
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      return undefined;
    }
    if (!isObject(value)) return { value };
    const { fields, names, texts, hasLongNumber } = scan;
    const isAll = texts.length === 0 && json.length === bytes.length;
    return new Outline(bytes, value, fields, {
      left: texts.length === 0 ? NONE_LEFT_OUT : new LeftOut(texts),
      ascii: isAll && json.length <= SHORT_BYTES_MAX ? json : undefined,
      repeatsNames: namesIn(value) !== names,
      hasLongNumber,
      list: undefined,
    });
  }

  /** Returns the outline of an object that a thread has read: the entries of a list are not parsed until `tree` is asked for. */
  static unread(bytes: Buffer, fields: readonly number[], list: Unread): Outline {
    const parts = { left: NONE_LEFT_OUT, ascii: undefined, repeatsNames: false };
    const head = headOf(bytes, list);
    return new Outline(bytes, head, fields, { ...parts, hasLongNumber: false, list });
  }

  /** The list of which `head` has only stand-ins; undefined if all is read. */
  get unread(): Unread | undefined {
    return this.list;
  }

  /** The object, with all entries. Do not change it. */
  get tree(): JsonObject {
    if (this.list) this.read();
    return this.head;
  }

  /** Puts the entries of an unread list in the place of their stand-ins. */
  read(): void {
    const { list } = this;
    if (!list) return;
    this.list = undefined;
    const texts = readInto(this.head[list.name], this.came, list);
    if (texts.length > 0) this.left = new LeftOut(texts);
  }

  /** Returns the positions of the fields in the bytes, and of the value of one of them. */
  placesOf(name: string): { fields: readonly number[]; from: number; to: number } {
    const { fields } = this;
    const at = 4 * this.names().indexOf(name);
    return { fields, from: fields[at + 2] ?? 0, to: fields[at + 3] ?? 0 };
  }

  /** The bytes that came; empty once the tree is handed out. */
  get bytes(): Buffer {
    return this.came;
  }

  /** The first top-level name that comes twice, undefined if none does. */
  get repeatedName(): string | undefined {
    const seen = new Set<string>();
    for (const name of this.names()) {
      if (seen.has(name)) return name;
      seen.add(name);
    }
    return undefined;
  }

  /** The texts that are left out of the tree. They are still there when the tree has them back. */
  get leftOut(): LeftOut {
    return this.left;
  }

  /** Returns true if a value has a placeholder anywhere. */
  hasPlaceholder(value: unknown): boolean {
    if (this.left === NONE_LEFT_OUT || typeof value === "number") return false;
    return value !== undefined && hasPlaceholder(JSON.stringify(value));
  }

  /**
   * Puts the texts back into the tree, except those whose placeholders are in `kept`. Lists and objects stay the same, so
   * that copies of the tree have the texts too.
   */
  fill(kept?: ReadonlySet<string>): void {
    const { tree } = this;
    if (this.left === NONE_LEFT_OUT) return;
    this.fillIn(tree, kept);
    if (!kept || kept.size === 0) this.left = NONE_LEFT_OUT;
  }

  private fillIn(value: object, kept?: ReadonlySet<string>): void {
    const { left } = this;
    const stack = [value];
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (Array.isArray(node)) {
        for (const entry of node)
          if (typeof entry === "object" && entry !== null) stack.push(entry);
        continue;
      }
      const object = node as JsonObject;
      for (const name in object) {
        const value = object[name];
        if (typeof value === "string") {
          const text = kept?.has(value) ? undefined : left.textOf(value);
          if (text) object[name] = text.decoded();
        } else if (typeof value === "object" && value !== null) stack.push(value);
      }
    }
  }

  /**
   * Lets `change` set and delete top-level fields of the tree; what is inside of them it must not change. Returns what
   * `change` returns. The bytes stay valid: `written` has the changes.
   */
  edit<T>(change: (tree: JsonObject) => T): T {
    const { head: tree } = this;
    this.before ??= { ...tree };
    const { before } = this;
    const result = change(tree);
    for (const name in tree) {
      const value = tree[name];
      if (value !== before[name] && typeof value === "object" && value !== null) this.fillIn(value);
    }
    return result;
  }

  /** Returns the tree with all texts, to a caller that may change it. From then on, the bytes are no longer valid. */
  handOut(): JsonObject {
    this.fill();
    this.handedOut = true;
    // A call may stream for minutes. The tree has all texts now, so the bytes are not kept.
    this.came = NOTHING;
    this.fields = [];
    return this.tree;
  }

  /** Frees the memory of the bytes at once. Nothing may read the object or its texts after that. */
  free(): void {
    freeMemory(this.came);
  }

  /** Has core write the JSON again: the bytes that came must not be passed on. */
  rewrite(): void {
    this.isRewritten = true;
  }

  /** Notes that the tree was changed inside of a field: it is not what the bytes say any more. */
  noteEdit(): void {
    this.isEdited = true;
  }

  /** The JSON that the tree says; empty once the tree is handed out. */
  get current(): Buffer {
    if (this.handedOut) return this.came;
    if (this.isEdited) {
      const json = JSON.stringify(this.tree);
      return this.left.written(json);
    }
    return this.before ? this.written(this.head) : this.came;
  }

  /** True if the bytes are not passed on: `handOut`, `rewrite` or `noteEdit` was called. */
  get isHandedOut(): boolean {
    if ((this.isRewritten || this.isEdited) && !this.handedOut) this.handOut();
    return this.handedOut;
  }

  /**
   * Returns the object as JSON, with the fields of `body`, a copy of the tree with some fields set, added or deleted.
   * Fields with the value that came are written as they came.
   */
  written(body: JsonObject): Buffer {
    const { bytes, head, fields } = this;
    const json = (name: string) => {
      const text = JSON.stringify(body[name]);
      if (hasPlaceholder(text)) throw new Error("a placeholder would have been sent for a text");
      return text;
    };
    return spliced(bytes, fields, this.names(), this.before ?? head, body, json);
  }

  /** The names of the top-level fields, decoded, in their order. */
  private names(): string[] {
    const { ascii, bytes, fields } = this;
    const names: string[] = [];
    for (let at = 0; at < fields.length; at += 4) {
      const from = (fields[at] ?? 0) + 1;
      const to = fields[at + 1];
      const raw = ascii?.slice(from, to) ?? bytes.toString("utf8", from, to);
      names.push(raw.includes("\\") ? JSON.parse(`"${raw}"`) : raw);
    }
    return names;
  }
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
    const object = node as JsonObject;
    for (const name in object) {
      count++;
      const value = object[name];
      if (typeof value === "object" && value !== null) stack.push(value);
    }
  }
  return count;
}
