import {
  bodyParts,
  type JsonObject,
  measuresOf,
  objectOf,
  RawJson,
  RequestBody,
  type Services,
} from "../../core/plugin/index.ts";
import { type Reader, readableBody } from "./native.ts";
import type { Translated } from "./notes.ts";
import type { BackFacts } from "./sides.ts";
import { StateSeal } from "./state/seal.ts";
import { type Target, translateRequest } from "./translate-request.ts";

/** The path to the arguments of tools, whose numbers stay as they came. */
const NUMBERS = ["messages", "content", "input"];

/** A long request, and what its translations need to know. */
export interface ThreadInput {
  readonly reader: Reader;
  readonly keepsNumbers: boolean;
  /** One for each form that the routes of the model take. */
  readonly targets: readonly Target[];
  readonly sealKey: Uint8Array;
  readonly measures: readonly Services["bodyMeasures"]["all"][number][];
}

export interface ThreadResult {
  /** For each target: why the request cannot be translated, or an index of `bodies`. */
  readonly made: readonly Translated<number, BackFacts>[];
  readonly bodies: readonly Parameters<typeof RequestBody.from>[0][];
}

/** The result, and the memory of it that the main thread gets without a copy. */
interface Handed {
  readonly result: ThreadResult;
  readonly handed: readonly ArrayBuffer[];
}

/** Parses, translates and writes a long request in a thread: bytes in, bytes out. */
async function translate(input: ThreadInput, bytes: Buffer): Promise<Handed> {
  const { reader, targets } = input;
  const seal = new StateSeal(input.sealKey);
  const client = targets[0]?.client ?? "messages";
  const text = bytes.toString();
  const kept = input.keepsNumbers ? RawJson.parse(text, NUMBERS) : undefined;
  const given: JsonObject = objectOf(kept) ?? JSON.parse(text);
  const body = { ...readableBody(given, client, reader), model: reader.id };
  const results = targets.map((target) => translateRequest(body, target, seal));
  const [first] = results.flatMap((result) => (result.ok ? [result.body] : []));
  const values = first ? await measuresOf(RequestBody.of(first), input.measures) : {};
  const facts = { measured: { field: undefined, values }, turns: undefined };
  const bodies: Parameters<typeof RequestBody.from>[0][] = [];
  const made = results.map((result): Translated<number, BackFacts> => {
    if (!result.ok) return result;
    const parts = bodyParts(result.body, LISTS);
    const same = bodies.findIndex((other) => Buffer.compare(other.bytes, parts.bytes) === 0);
    return { ...result, body: same === -1 ? bodies.push({ ...parts, ...facts }) - 1 : same };
  });
  const handed = bodies.flatMap(({ bytes: { buffer } }) =>
    buffer instanceof ArrayBuffer ? [buffer] : [],
  );
  return { result: { made, bodies }, handed };
}

export default translate;

/** No step after the translation reads the conversation, and of the tools only how many there are. */
const LISTS = new Set(["messages", "input", "tools"]);
