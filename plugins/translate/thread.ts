import {
  type BodyMeasure,
  type JsonObject,
  type MeasureWork,
  outlineOf,
  type ThreadWork,
  type WrittenParts,
  writtenParts,
} from "../../core/plugin/index.ts";
import { type Reader, readableBody } from "./native.ts";
import type { Translated } from "./notes.ts";
import type { BackFacts } from "./sides.ts";
import { leaveTextsOut } from "./skeleton.ts";
import { StateSeal } from "./state/seal.ts";
import { textCharacters } from "./text-characters.ts";
import { type Target, translateRequest } from "./translate-request.ts";

/** A long request, and what its translations need to know. */
export interface ThreadInput {
  readonly reader: Reader;
  /** One for each form that the routes of the model take. */
  readonly targets: readonly Target[];
  readonly sealKey: Uint8Array;
  readonly measures: readonly BodyMeasure[];
}

export interface ThreadResult {
  /** For each target: why the request cannot be translated, or an index of `bodies`. */
  readonly made: readonly Translated<number, BackFacts>[];
  readonly bodies: readonly WrittenParts[];
  /** The measures of the first body, by name. */
  readonly measured: Readonly<Record<string, unknown>>;
  /** Characters of the client's request, without images. */
  readonly characters: number;
}

/** Parses, translates and writes a long request in a thread: bytes in, bytes out. */
const translate: ThreadWork<ThreadInput, ThreadResult> = async (input, bytes) => {
  const { reader, targets } = input;
  const outline = outlineOf(bytes);
  if (!outline) throw new Error("the main thread has read the body, and a thread cannot");
  const seal = new StateSeal(input.sealKey);
  const client = targets[0]?.client ?? "messages";
  const texts = leaveTextsOut(outline, client);
  if (!texts) outline.fill();
  const body = { ...readableBody(outline.tree, client, reader), model: reader.id };
  const json = (value: unknown) => {
    const text = JSON.stringify(value);
    return texts ? texts.written(text) : Buffer.from(text);
  };
  const bodies: WrittenParts[] = [];
  let first: JsonObject | undefined;
  const made = targets.map((target): Translated<number, BackFacts> => {
    const result = translateRequest(body, target, seal);
    if (!result.ok) return result;
    first ??= result.body;
    const parts = writtenParts(result.body, json, standIn);
    const same = bodies.findIndex((other) => Buffer.compare(other.bytes, parts.bytes) === 0);
    return { ...result, body: same === -1 ? bodies.push(parts) - 1 : same };
  });
  const measured: Record<string, unknown> = {};
  for (const { name, module } of first ? input.measures : []) {
    const { default: measure }: { default: MeasureWork<unknown> } = await import(module);
    measured[name] = first && measure(first, texts);
  }
  const characters = textCharacters(body, texts);
  const handed = bodies.flatMap(({ bytes: { buffer } }) =>
    buffer instanceof ArrayBuffer ? [buffer] : [],
  );
  return { result: { made, bodies, measured, characters }, handed };
};

export default translate;

const CONVERSATIONS = new Set(["messages", "input"]);
const SHORT_BYTES_MAX = 4_096;

/** No step after the translation reads the conversation, and of the tools only how many there are. */
function standIn(name: string, value: unknown, bytes: number): unknown {
  if (!Array.isArray(value) || bytes <= SHORT_BYTES_MAX) return value;
  if (CONVERSATIONS.has(name)) return [];
  return name === "tools" ? value.map((): JsonObject => ({})) : value;
}
