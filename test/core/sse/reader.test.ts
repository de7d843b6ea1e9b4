import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { type ServerEvent, SseReader } from "../../../core/sse/reader.ts";
import { encodeComment, encodeEvent } from "../../../core/sse/writer.ts";
import { parseNaively } from "./reference.ts";

interface Fixture {
  readonly name: string;
  readonly text: string;
  /** [event, data] of each block with data. */
  readonly events: readonly (readonly [string | undefined, string])[];
}

const FIXTURES: readonly Fixture[] = [
  {
    name: "two named events, LF",
    text: 'event: message_start\ndata: {"a":1}\n\nevent: message_stop\ndata: {}\n\n',
    events: [
      ["message_start", '{"a":1}'],
      ["message_stop", "{}"],
    ],
  },
  {
    name: "CRLF",
    text: "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n",
    events: [
      ["a", "1"],
      [undefined, "2"],
    ],
  },
  {
    name: "a CR alone ends no line",
    text: "data: 1\rdata: 2\r\n\r\n",
    events: [[undefined, "1\rdata: 2"]],
  },
  {
    name: "mixed line ends",
    text: "data: 1\r\n\ndata: 2\n\r\ndata: 3\r\n\r\n",
    events: [
      [undefined, "1"],
      [undefined, "2"],
      [undefined, "3"],
    ],
  },
  {
    name: "no space after the colon, two spaces, a field without a colon",
    text: "data:1\n\ndata:  2\n\ndata\n\nevent\ndata: 3\n\n",
    events: [
      [undefined, "1"],
      [undefined, " 2"],
      [undefined, "3"],
    ],
  },
  {
    name: "several data lines, comments, unknown fields, field names with the same prefix",
    text: ": hi\ndata: 1\nid: 7\nretry: 10\ndata:\ndatabase: no\ndata: 2\nevents: no\n\n",
    events: [[undefined, "1\n\n2"]],
  },
  {
    name: "byte order mark, non-ASCII text",
    text: "\ufeffdata: xin chào 🌏\n\ndata: \ufeffkept\n\n",
    events: [
      [undefined, "xin chào 🌏"],
      [undefined, "\ufeffkept"],
    ],
  },
  {
    name: "byte order mark before a blank line",
    text: "\ufeff\ndata: 1\n\n",
    events: [[undefined, "1"]],
  },
  {
    name: "keep-alive comments are separate blocks",
    text: ": ping\n\n: ping\n\ndata: 1\n\n\n\n",
    events: [[undefined, "1"]],
  },
  {
    name: "last block without its blank line",
    text: "data: 1\n\ndata: [DONE]\n",
    events: [
      [undefined, "1"],
      [undefined, "[DONE]"],
    ],
  },
  { name: "last line without a line end", text: "event: a\ndata: 1", events: [["a", "1"]] },
];

t.test("SseReader", async (t) => {
  for (const fixture of FIXTURES) {
    const bytes = Buffer.from(fixture.text);
    t.test(`${fixture.name}: whole`, async () => check(fixture, [bytes]));
    t.test(`${fixture.name}: byte by byte`, async () => {
      check(
        fixture,
        Array.from(bytes, (byte) => Uint8Array.of(byte)),
      );
    });
    t.test(`${fixture.name}: split at every boundary`, async () => {
      for (let at = 0; at <= bytes.length; at += 1) {
        check(fixture, [bytes.subarray(0, at), bytes.subarray(at)]);
      }
    });
  }

  t.test("any bytes, split anywhere, give the events of the reference reader", async () => {
    const piece = fc.constantFrom(
      ..."\r \n \r\n data: data event: event :c d e x 1 é 🌏 \ufeff".split(" "),
      " ",
      "data: {}\n\n",
      "\r\n\r\n",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece.map(Buffer.from), fc.uint8Array({ maxLength: 3 })), {
          maxLength: 40,
        }),
        fc.array(fc.nat(12), { maxLength: 40 }),
        (pieces, sizes) => {
          const bytes = Buffer.concat(pieces);
          const whole = read([bytes]);
          const parts = read(split(bytes, sizes));
          assert.deepEqual(Buffer.concat(whole.map((event) => event.raw)), bytes);
          assert.deepEqual(
            parts.map((event) => [Buffer.from(event.raw).toString("hex"), event.type, event.data]),
            whole.map((event) => [Buffer.from(event.raw).toString("hex"), event.type, event.data]),
          );
          assert.deepEqual(
            whole.filter(carries).map((event) => [event.type, event.data]),
            parseNaively(bytes),
          );
        },
      ),
      { numRuns: 3000 },
    );
  });

  t.test("a block is emitted as soon as its blank line arrives", async (t) => {
    const seen: string[] = [];
    const reader = new SseReader();
    const push = (text: string) => reader.push(Buffer.from(text), (event) => seen.push(event.data));
    push("data: 1\n");
    t.strictSame(seen, []);
    push("\n");
    t.strictSame(seen, ["1"]);
    push(": comment\n\n");
    t.strictSame(seen, ["1", ""]);
    push("data: 2\r\n\r\n");
    t.strictSame(seen, ["1", "", "2"]);
  });

  t.test("a split CRLF stays together, and half a byte order mark is text", async (t) => {
    const raws = (bytes: Buffer): string[] =>
      read(Array.from(bytes, (byte) => Uint8Array.of(byte))).map(({ raw }) =>
        Buffer.from(raw).toString("latin1"),
      );
    const crlf = ["data: 1\r\n\r\n", "\r\n", "data: 2\r\n\r\n"];
    t.strictSame(raws(Buffer.from(crlf.join(""))), crlf);
    const half = "\xef\xbb\ndata: 1\n\n";
    t.strictSame(raws(Buffer.from(half, "latin1")), [half]);
  });

  t.test("a block within one chunk is a view of it; an open one is copied", async (t) => {
    const chunk = new Uint8Array(Buffer.from("data: 1\n\ndata: 2"));
    const raws: Uint8Array[] = [];
    const reader = new SseReader();
    reader.push(chunk, (event) => raws.push(event.raw));
    chunk.fill(0x78);
    reader.push(Buffer.from("\n\n"), (event) => raws.push(event.raw));
    t.equal(raws[0]?.buffer, chunk.buffer);
    t.equal(Buffer.from(raws[1] ?? []).toString(), "data: 2\n\n");
  });

  t.test("a large block keeps little memory beside its own", async (t) => {
    const half = Buffer.alloc(2_000_000, "x");
    const kept: number[] = [];
    const reader = new SseReader();
    const keep = ({ raw }: ServerEvent) => kept.push(raw.buffer.byteLength);
    for (const part of [half, half]) reader.push(part, keep);
    t.equal(reader.keptBytes, 4_000_000);
    reader.push(Buffer.from("x\n\n"), keep);
    t.strictSame([kept, reader.keptBytes], [[4_000_003], 0]);
  });

  t.test("a block over the limit is refused, split anywhere, and nothing follows it", async (t) => {
    const over = Buffer.from(`data: 1\n\ndata: ${"x".repeat(100)}\n\ndata: 2\n\n`);
    for (const size of [1, 7, over.length]) {
      const reader = new SseReader(64);
      const seen: string[] = [];
      const results: boolean[] = [];
      for (let at = 0; at < over.length; at += size) {
        results.push(reader.push(over.subarray(at, at + size), (event) => seen.push(event.data)));
      }
      reader.end((event) => seen.push(event.data));
      t.equal(results.at(-1), false);
      t.strictSame(seen, ["1"]);
    }
  });

  t.test("a block of exactly the limit passes", async (t) => {
    const exact = Buffer.from(`data: ${"x".repeat(56)}\n\n`);
    const reader = new SseReader(exact.length);
    t.equal(
      reader.push(exact, () => {}),
      true,
    );
    for (const byte of exact) {
      t.equal(
        reader.push(Uint8Array.of(byte), () => {}),
        true,
      );
    }
  });
});

t.test("encodeEvent", async (t) => {
  t.test("writes events that the reader parses", async (t) => {
    const text =
      encodeEvent("ping", '{"type":"ping"}') +
      encodeComment("x") +
      encodeEvent(undefined, "[DONE]");
    t.equal(text, 'event: ping\ndata: {"type":"ping"}\n\n: x\n\ndata: [DONE]\n\n');
    const events = read([Buffer.from(text)]);
    t.strictSame(
      events.map((event) => [event.type, event.data]),
      [
        ["ping", '{"type":"ping"}'],
        [undefined, ""],
        [undefined, "[DONE]"],
      ],
    );
  });
});

function check(fixture: Fixture, chunks: readonly Uint8Array[]): void {
  const events = read(chunks);
  assert.equal(Buffer.concat(events.map((event) => event.raw)).toString(), fixture.text);
  assert.deepEqual(
    events.filter(carries).map((event) => [event.type, event.data]),
    fixture.events,
  );
}

function read(chunks: readonly Uint8Array[]): ServerEvent[] {
  const events: ServerEvent[] = [];
  const reader = new SseReader();
  for (const chunk of chunks) assert.ok(reader.push(chunk, (event) => events.push(event)));
  reader.end((event) => events.push(event));
  return events;
}

/** Blank lines and comments form blocks too; a client ignores them. */
function carries(event: ServerEvent): boolean {
  return event.data !== "";
}

function split(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  chunks.push(bytes.subarray(at));
  return chunks;
}
