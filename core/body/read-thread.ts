import { PROTOCOLS, type Protocol } from "../catalogue/endpoint.ts";
import { isRefusal, type Refusal } from "../wire/refusal.ts";
import { type BodyParts, readJson } from "./request-body.ts";
import { type BodyMeasure, measuresOf, type ThreadWork } from "./thread-work.ts";
import { turnsOf } from "./turns.ts";

export interface ReadInput {
  readonly protocol: Protocol;
  readonly measures: readonly BodyMeasure[];
}

export interface ReadResult {
  /** The bytes of the body, which were lent; those of `parts` if there are some. */
  readonly bytes: Uint8Array;
  readonly refusal?: Refusal;
  /** The body for the main thread; undefined if that has to read it itself. */
  readonly parts?: BodyParts;
}

/** More than this beside the conversation is not worth a thread: the main thread parses it anyway. */
const REST_BYTES_MAX = 262_144;

const read: ThreadWork<ReadInput, ReadResult> = async ({ protocol, measures }, bytes) => {
  const name = PROTOCOLS[protocol].conversation;
  const body = readJson(bytes, name);
  if (isRefusal(body)) return handed({ bytes, refusal: body });
  const turns = turnsOf(body.outline, protocol);
  const parts = name === undefined || !turns ? undefined : body.partsWithout(name);
  if (name === undefined || !parts || body.length - body.bytesOf(name) > REST_BYTES_MAX) {
    return handed({ bytes });
  }
  const measured = { field: name, values: await measuresOf(body.alone(name), measures) };
  return handed({ bytes: parts.bytes, parts: { ...parts, measured, turns } });
};

function handed(result: ReadResult) {
  const { buffer } = result.bytes;
  return { result, handed: buffer instanceof ArrayBuffer ? [buffer] : [] };
}

export default read;
