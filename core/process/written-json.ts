import { freeMemory } from "./free-memory.ts";
import type { JsonObject } from "./json.ts";
import { spliced } from "./splice.ts";

/** The parts of a `WrittenJson`: plain data, which a thread can pass on. */
export interface WrittenParts {
  readonly bytes: Uint8Array;
  /** For each field: the quotes of its name, and the start and end of its value. */
  readonly fields: readonly number[];
  /** The fields, with a stand-in for each that is long. */
  readonly head: JsonObject;
}

/** A JSON object that a thread has written. Its long fields are there as bytes alone. */
export class WrittenJson {
  private json: Buffer;
  /** The object, with a stand-in for each field that is long. Do not change it. */
  readonly head: JsonObject;
  private readonly fields: readonly number[];

  constructor({ bytes, fields, head }: WrittenParts) {
    this.json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.fields = fields;
    this.head = head;
  }

  /** The object as JSON; empty once it is released. */
  get bytes(): Buffer {
    return this.json;
  }

  release(): void {
    freeMemory(this.json);
    this.json = NOTHING;
  }

  /** Returns the object as JSON, with the fields of `body`, a copy of `head` with some fields set, added or deleted. */
  written(body: JsonObject): Buffer {
    const { bytes, fields, head } = this;
    return spliced(bytes, fields, Object.keys(head), head, body, (name) =>
      JSON.stringify(body[name]),
    );
  }
}

const NOTHING = Buffer.alloc(0);

/** Writes an object. `json` writes a field, and `stand` returns what stands for it in `head`. */
export function writtenParts(
  body: JsonObject,
  json: (value: unknown) => Buffer,
  stand: (name: string, value: unknown, bytes: number) => unknown,
): WrittenParts {
  const pieces: Buffer[] = [];
  const fields: number[] = [];
  const head: JsonObject = {};
  let size = 0;
  const add = (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
  };
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined) continue;
    const quoted = Buffer.from(JSON.stringify(name));
    add(Buffer.from(size === 0 ? "{" : ","));
    const open = size;
    add(quoted);
    fields.push(open, size - 1);
    add(COLON);
    const written = json(value);
    fields.push(size, size + written.length);
    add(written);
    head[name] = stand(name, value, written.length);
  }
  add(Buffer.from(size === 0 ? "{}" : "}"));
  // Memory of its own, which a thread can hand over.
  const bytes = Buffer.from(new ArrayBuffer(size));
  let at = 0;
  for (const piece of pieces) at += piece.copy(bytes, at);
  return { bytes, fields, head };
}

const COLON = Buffer.from(":");
