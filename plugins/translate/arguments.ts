import {
  excessOf,
  isObject,
  JSON_MAX,
  type JsonObject,
  parseJson,
  RawJson,
} from "../../core/plugin/index.ts";
import type { Notes } from "./notes.ts";

/** The field for arguments that are not a JSON object, so that the tool itself refuses them. */
const RAW = "_raw_arguments";

/** The texts that inputs were read from: on the way to another text, they stay as the model or the client wrote them. */
const texts = new WeakMap<JsonObject, string>();

/**
 * Converts the arguments of a Chat tool call to the input of a Messages one. Wraps arguments that
 * are not a JSON object; replaced by `{}`, they would make an agent run the tool without arguments.
 */
function inputOf(args: unknown): JsonObject {
  if (args === undefined || args === null) return {};
  if (isObject(args)) return isShallow(args) ? args : { [RAW]: "" };
  const text = textOf(args);
  if (text.trim() === "") return {};
  const parsed = isExcessive(text) ? undefined : parsedOf(text);
  if (!isObject(parsed) || !isShallow(parsed)) return { [RAW]: text };
  texts.set(parsed, text);
  return parsed;
}

function parsedOf(text: string): unknown {
  return RawJson.parse(text) ?? parseJson(text);
}

/** Returns true for an input that stands for arguments that are no object. */
function isWrapped(input: JsonObject): boolean {
  return Object.hasOwn(input, RAW);
}

/**
 * Like `inputOf`, for one of many calls of a request. Counts the values that were inside of a string: the limit for
 * bodies does not see them. Once there are too many, the request is rejected and no more are parsed.
 */
export function sentInputOf(args: unknown, notes: Notes, path: string): JsonObject {
  if (notes.rejected) return {};
  const input = inputOf(args);
  if (typeof args === "string") notes.countParsed(valuesIn(input) ?? 0, path);
  return input;
}

/** Like `inputOf`, for a model's reply: some servers encode the arguments as JSON twice. */
export function answeredInputOf(args: unknown): JsonObject {
  if (typeof args === "string" && args.trimStart().startsWith('"')) {
    const once = parseJson(args);
    const isText = typeof once === "string" && !isExcessive(once);
    const twice = isText ? parsedOf(once) : undefined;
    if (isObject(twice) && isShallow(twice)) return twice;
  }
  const input = inputOf(args);
  // A client gets arguments that are cut off as they are, but no provider takes them.
  if (typeof args === "string" && isWrapped(input)) texts.set(input, args);
  return input;
}

/**
 * Converts the input of a Messages tool call to the arguments of a Chat one: the text that it was read from, else compact
 * JSON, keys in order.
 */
export function argumentsOf(input: unknown): string {
  if (!isObject(input)) return "{}";
  const text = texts.get(input);
  if (text !== undefined) return text;
  return isShallow(input) ? RawJson.write(input) : "{}";
}

/** Returns the arguments text of a streamed delta; a value that is not a string becomes JSON. */
export function argumentsText(args: unknown): string {
  return args === undefined || args === null ? "" : textOf(args);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return isShallow(value) ? JSON.stringify(value) : "";
}

/** Shorter texts have too few values to cost much. */
const LONG_CHARACTERS = 100_000;

/** Returns true for JSON inside of a string that would be refused as a body: 20 MB of brackets take 1.4 GB to parse. */
function isExcessive(text: string): boolean {
  return text.length > LONG_CHARACTERS && excessOf(Buffer.from(text)) !== undefined;
}

/** Returns true if a value is shallow enough for recursion. */
function isShallow(value: unknown): boolean {
  return valuesIn(value) !== undefined;
}

/**
 * Counts the values inside of a value. Returns undefined if it is too deep for recursion; does not recurse itself.
 * Needed for values that core has not checked: upstream replies, and JSON inside of a string.
 */
function valuesIn(value: unknown): number | undefined {
  let values = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > JSON_MAX.levels) return undefined;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const child of Object.values(item)) {
        values += 1;
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    level = next;
  }
  return values;
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds the end of a JSON object that arrives in pieces. Reads each character once and stores none.
 */
export class ObjectScanner {
  private depth = 0;
  private inString = false;
  private escaped = false;
  private state: "before" | "inside" | "complete" | "other" = "before";

  /** True after one whole JSON object. */
  get complete(): boolean {
    return this.state === "complete";
  }

  push(text: string): void {
    for (let i = 0; i < text.length; i += 1) {
      if (this.inString) {
        i = this.endOfString(text, i);
        continue;
      }
      const char = text.charCodeAt(i);
      if (this.state === "inside") this.step(char);
      else if (isSpace(char)) continue;
      else if (this.state === "before" && char === OPEN_BRACE) this.begin();
      // There is text before or after the object, so the arguments are not one object.
      else this.state = "other";
      if (this.state === "other") return;
    }
  }

  private begin(): void {
    this.state = "inside";
    this.depth = 1;
  }

  /** Returns the place of the quote that ends the string, or the end of the text. Searches: most of a long call is strings. */
  private endOfString(text: string, from: number): number {
    let at = this.escaped ? from + 1 : from;
    this.escaped = false;
    while (true) {
      const quote = text.indexOf('"', at);
      const end = quote === -1 ? text.length : quote;
      let slashes = end;
      while (slashes > at && text.charCodeAt(slashes - 1) === BACKSLASH) slashes -= 1;
      const isEscaped = (end - slashes) % 2 === 1;
      if (quote !== -1 && isEscaped) {
        at = quote + 1;
        continue;
      }
      this.escaped = isEscaped;
      this.inString = quote === -1;
      return end;
    }
  }

  private step(char: number): void {
    if (char === QUOTE) this.inString = true;
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) this.depth += 1;
    else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      this.depth -= 1;
      if (this.depth === 0) this.state = "complete";
    }
  }
}

/** Decodes the arguments of a streamed call that a server has encoded as JSON twice: it holds a text until that is whole. */
export class TwiceEncoded {
  private state: "before" | "text" | "passed" = "before";
  private held: string[] = [];
  private escaped = false;

  /** Returns the arguments that can be written now. */
  push(piece: string): string {
    if (this.state === "passed") return piece;
    this.held.push(piece);
    for (let i = 0; i < piece.length; i += 1) {
      const char = piece.charCodeAt(i);
      if (this.state === "before") {
        if (isSpace(char)) continue;
        if (char !== QUOTE) return this.rest();
        this.state = "text";
      } else if (this.escaped) this.escaped = false;
      else if (char === BACKSLASH) this.escaped = true;
      else if (char === QUOTE) return decoded(this.rest());
    }
    return "";
  }

  /** Returns what is still held, as it came. */
  rest(): string {
    this.state = "passed";
    const rest = this.held.join("");
    this.held = [];
    return rest;
  }
}

function decoded(text: string): string {
  const input = answeredInputOf(text);
  return isWrapped(input) ? text : argumentsOf(input);
}

function isSpace(char: number): boolean {
  return char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09;
}

/** Returns true if `text` is empty or all white space. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
