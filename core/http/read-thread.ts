import type { Protocol } from "../catalogue/endpoint.ts";
import type { BodyMeasure, MeasureWork, ThreadWork } from "../plugin/body-threads.ts";
import type { Unread } from "../process/unread-list.ts";
import { isRefusal, type Refusal } from "../wire/refusal.ts";
import { CONVERSATION, turnsOf } from "../wire/turns.ts";
import { readJsonBody } from "./json-body.ts";

export interface ReadInput {
  readonly protocol: Protocol;
  readonly measures: readonly BodyMeasure[];
}

export interface ReadResult {
  /** The bytes of the body, which were lent. */
  readonly bytes: Uint8Array;
  readonly refusal?: Refusal;
  /** The facts that the main thread needs; undefined if it has to read the body itself. */
  readonly read?: { readonly fields: readonly number[]; readonly list: Unread };
}

/** More than this beside the conversation is not worth a thread: the main thread parses it anyway. */
const REST_BYTES_MAX = 262_144;

/** Reads and checks a long body in a thread. */
const read: ThreadWork<ReadInput, ReadResult> = async ({ protocol, measures }, bytes) => {
  const outline = readJsonBody(bytes);
  const { buffer } = bytes;
  const handed = buffer instanceof ArrayBuffer ? [buffer] : [];
  if (isRefusal(outline)) return { result: { bytes, refusal: outline }, handed };
  const name = CONVERSATION[protocol];
  const turns = turnsOf(outline.tree, protocol);
  // The main thread writes such a body again.
  const isRewritten = outline.repeatsNames || outline.hasLongNumber;
  if (name === undefined || !turns || isRewritten) return { result: { bytes }, handed };
  const { fields, from, to } = outline.placesOf(name);
  if (bytes.length - (to - from) > REST_BYTES_MAX) return { result: { bytes }, handed };
  const measured: Record<string, unknown> = {};
  const alone = { [name]: outline.tree[name] };
  for (const { name, module } of measures) {
    const { default: measure }: { default: MeasureWork<unknown> } = await import(module);
    measured[name] = measure(alone, outline.leftOut);
  }
  const list = { name, from, to, turns, measured };
  return { result: { bytes, read: { fields, list } }, handed };
};

export default read;
