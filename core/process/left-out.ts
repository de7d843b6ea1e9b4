import { randomBytes } from "node:crypto";
import type { LongText } from "./long-text.ts";

/** Begins what stands for a text that is left out. Random, so that no client can send it. */
const MARK = randomBytes(9).toString("base64url");
const MARK_BYTES = Buffer.from(MARK);
const DIGITS = 6;
export const PLACEHOLDER_CHARACTERS = MARK.length + DIGITS;
const PLACEHOLDERS = new RegExp(`${MARK}(\\d{${DIGITS}})`, "g");

/** Returns what stands for the text of this index. */
export function placeholder(index: number): string {
  return MARK + String(index).padStart(DIGITS, "0");
}

/** Returns true if a text, such as JSON, has a placeholder anywhere. */
export function hasPlaceholder(text: string): boolean {
  return text.includes(MARK);
}

/** The texts that are left out of a tree. They keep the bytes that came. */
export class LeftOut {
  private readonly texts: readonly LongText[];

  constructor(texts: readonly LongText[]) {
    this.texts = texts;
  }

  /** Returns the text that a string stands for; undefined if the string is itself. */
  textOf(value: string): LongText | undefined {
    if (value.length !== PLACEHOLDER_CHARACTERS || !value.startsWith(MARK)) return undefined;
    return this.texts[Number(value.slice(MARK.length))];
  }

  /** Returns a string with the texts whose placeholders are parts of it. */
  whole(value: string): string {
    const { texts } = this;
    if (texts.length === 0 || value.length < PLACEHOLDER_CHARACTERS || !value.includes(MARK)) {
      return value;
    }
    return value.replace(PLACEHOLDERS, (same, index) => texts[Number(index)]?.decoded() ?? same);
  }

  /** Returns JSON with the texts in their places, as the bytes that came. */
  written(json: string): Buffer {
    const short = Buffer.from(json);
    const found: { at: number; text: LongText }[] = [];
    let size = short.length;
    for (let at = short.indexOf(MARK_BYTES); at !== -1; at = short.indexOf(MARK_BYTES, at + 1)) {
      const index = short.toString("latin1", at + MARK.length, at + PLACEHOLDER_CHARACTERS);
      const text = this.texts[Number(index)];
      if (!text) throw new Error("a placeholder would have been sent for a text");
      found.push({ at, text });
      size += text.to - text.from - PLACEHOLDER_CHARACTERS;
    }
    if (found.length === 0) return short;
    const out = Buffer.allocUnsafe(size);
    let to = 0;
    let copied = 0;
    for (const { at, text } of found) {
      to += short.copy(out, to, copied, at);
      to += text.copy(out, to);
      copied = at + PLACEHOLDER_CHARACTERS;
    }
    short.copy(out, to, copied);
    return out;
  }
}

export const NONE_LEFT_OUT = new LeftOut([]);
