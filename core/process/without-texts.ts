import { isAscii } from "node:buffer";
import { PLACEHOLDER_CHARACTERS, placeholder } from "./left-out.ts";
import type { LongText } from "./long-text.ts";

/** Returns the JSON text with a placeholder for each of the texts. */
export function withoutTexts(bytes: Buffer, texts: readonly LongText[]): string {
  if (texts.length === 0) return textOf(bytes);
  let size = bytes.length;
  for (const { from, to } of texts) size -= to - from - PLACEHOLDER_CHARACTERS;
  const short = Buffer.allocUnsafe(size);
  let copied = 0;
  let at = 0;
  for (const [index, { from, to }] of texts.entries()) {
    at = copy(bytes, copied, from, short, at);
    at += short.write(placeholder(index), at, "latin1");
    copied = to;
  }
  copy(bytes, copied, bytes.length, short, at);
  return textOf(short);
}

/** Up to this many bytes, a loop is faster than the call of a native copy. */
const LOOPED_BYTES = 256;

/** Copies the bytes `from` to `to`. Returns the position behind them in `into`. */
function copy(bytes: Buffer, from: number, to: number, into: Buffer, at: number): number {
  const behind = at + to - from;
  if (to - from > LOOPED_BYTES) bytes.copy(into, at, from, to);
  else for (let next = at, index = from; index < to; ) into[next++] = bytes[index++] ?? 0;
  return behind;
}

function textOf(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}
