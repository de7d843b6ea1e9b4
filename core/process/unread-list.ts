import type { JsonObject } from "./json.ts";
import { scanJson } from "./json-scan.ts";
import type { LongText } from "./long-text.ts";
import { TEXT_FIELDS } from "./text-fields.ts";
import type { Turns } from "./turns.ts";
import { withoutTexts } from "./without-texts.ts";

/** A top-level list that was read in a thread, and is only bytes here. Plain data. */
export interface Unread {
  readonly name: string;
  /** The positions of its brackets: the first, and behind the last. */
  readonly from: number;
  readonly to: number;
  readonly turns: Turns;
  /** The results of plugins' measures of an object that has this list alone, by name. */
  readonly measured: Readonly<Record<string, unknown>>;
}

/** Stands for each entry. To write one would send a provider something else than the client sent. */
class StandIn {
  toJSON(): never {
    throw new Error("an entry that was not read would have been sent");
  }
}
const STAND_IN = Object.freeze(new StandIn());

/** Parses the object, which must be valid, without the entries of the list. */
export function headOf(bytes: Buffer, { name, from, to, turns }: Unread): JsonObject {
  const before = bytes.toString("utf8", 0, from);
  const head: JsonObject = JSON.parse(`${before}[]${bytes.toString("utf8", to)}`);
  const list = head[name];
  if (Array.isArray(list)) for (let at = 0; at < turns.count; at++) list.push(STAND_IN);
  return head;
}

/** Puts the entries into the list, with placeholders for long texts, which it returns. */
export function readInto(list: unknown, bytes: Buffer, { from, to }: Unread): readonly LongText[] {
  const own = bytes.subarray(from, to);
  const most = Number.POSITIVE_INFINITY;
  const scan = scanJson(own, TEXT_FIELDS, most, most);
  const texts = typeof scan === "string" ? [] : scan.texts;
  const entries: unknown[] = JSON.parse(withoutTexts(own, texts));
  if (!Array.isArray(list)) throw new Error("a list that a thread has read is none");
  for (let at = 0; at < entries.length; at++) list[at] = entries[at];
  return texts;
}
