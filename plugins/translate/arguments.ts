import {
  isObject,
  JSON_LEVELS_MAX,
  type JsonObject,
  parseJson,
} from "../../core/contract/index.ts";

/** Arguments of a call that cannot be read travel under this key: the tool itself then refuses them. */
const RAW = "_raw_arguments";

/**
 * The arguments of a Chat tool call as the input of a Messages one. Arguments that are no JSON object are
 * wrapped, never replaced by `{}`: an agent would run the tool with nothing.
 */
export function inputOf(args: unknown): JsonObject {
  if (args === undefined || args === null) return {};
  if (isObject(args)) return isShallow(args) ? args : { [RAW]: "" };
  const text = textOf(args);
  if (text.trim() === "") return {};
  const parsed = parseJson(text);
  return isObject(parsed) && isShallow(parsed) ? parsed : { [RAW]: text };
}

/** The same for a model's answer, where some servers encode the arguments twice. */
export function answeredInputOf(args: unknown): JsonObject {
  if (typeof args === "string" && args.trimStart().startsWith('"')) {
    const once = parseJson(args);
    const twice = typeof once === "string" ? parseJson(once) : undefined;
    if (isObject(twice) && isShallow(twice)) return twice;
  }
  return inputOf(args);
}

/** The input of a Messages tool call as the arguments of a Chat one: compact, keys in their order. */
export function argumentsOf(input: unknown): string {
  return isObject(input) && isShallow(input) ? JSON.stringify(input) : "{}";
}

/** What a streamed delta says of a call's arguments: text as it is, anything else written out once. */
export function argumentsText(args: unknown): string {
  return args === undefined || args === null ? "" : textOf(args);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return isShallow(value) ? JSON.stringify(value) : "";
}

/**
 * Whether a value can be written out by recursion; walks it without. For what core has not checked: an upstream's
 * answers, and JSON that is the text of a string.
 */
function isShallow(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > JSON_LEVELS_MAX) return false;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const child of Object.values(item)) {
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    level = next;
  }
  return true;
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Follows a JSON object that comes in pieces and knows when its last brace has come, looking at each
 * character once and keeping none.
 */
export class ObjectScanner {
  private depth = 0;
  private inString = false;
  private escaped = false;
  private state: "before" | "inside" | "complete" | "other" = "before";

  /** One whole JSON object has been seen. */
  get complete(): boolean {
    return this.state === "complete";
  }

  push(text: string): void {
    for (let i = 0; i < text.length; i += 1) {
      const char = text.charCodeAt(i);
      if (this.state === "inside") this.step(char);
      else if (isSpace(char)) continue;
      else if (this.state === "before" && char === OPEN_BRACE) this.begin();
      // Text before or behind the object: these arguments are not one object.
      else this.state = "other";
      if (this.state === "other") return;
    }
  }

  private begin(): void {
    this.state = "inside";
    this.depth = 1;
  }

  private step(char: number): void {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (char === BACKSLASH) this.escaped = true;
      else if (char === QUOTE) this.inString = false;
      return;
    }
    if (char === QUOTE) this.inString = true;
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) this.depth += 1;
    else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      this.depth -= 1;
      if (this.depth === 0) this.state = "complete";
    }
  }
}

function isSpace(char: number): boolean {
  return char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09;
}

/** Whether text is nothing but white space. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
