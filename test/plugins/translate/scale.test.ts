import t from "tap";
import {
  type Mark,
  type StreamTranslator,
  WAITING_CHARS_MAX,
} from "../../../plugins/translate/stream.ts";
import { type Client, Recorder, translator } from "./harness.ts";

/** Counts what is sent to a client, and keeps none of it. */
class Counter {
  events = 0;
  chars = 0;
  longest = 0;
  httpError: unknown = undefined;

  write(text: string, _mark: Mark): void {
    this.events += 1;
    this.chars += text.length;
    this.longest = Math.max(this.longest, text.length);
  }

  refuse(_status: number, body: unknown): void {
    this.httpError = body;
  }
}

const DELTAS = 100_000;

/** The events of one call whose arguments come in `count` deltas of ten characters. */
function* longCall(client: Client, count: number): Generator<object> {
  const piece = (text: string): object =>
    client === "messages"
      ? { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] }
      : {
          type: "content_block_delta",
          index: 0,
          delta: { type: "input_json_delta", partial_json: text },
        };
  if (client === "messages") {
    yield {
      choices: [{ delta: { tool_calls: [{ index: 0, id: "a", function: { name: "f" } }] } }],
    };
  } else {
    const block = { type: "tool_use", id: "a", name: "f", input: {} };
    yield { type: "content_block_start", index: 0, content_block: block };
  }
  yield piece('{"text":"');
  for (let i = 0; i < count; i += 1) yield piece('{\\"a\\": 12');
  yield piece('"}');
}

/** Sizes of everything a translation references, found by walking the object graph. */
function heldChars(value: unknown, seen = new Set<unknown>()): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || seen.has(value)) return 0;
  seen.add(value);
  const inner = value instanceof Map ? [...value.values()] : Object.values(value);
  return inner.reduce((sum: number, item) => sum + heldChars(item, seen), 0);
}

function send(stream: StreamTranslator, events: Iterable<object>): void {
  for (const event of events) stream.event({ type: undefined, data: JSON.stringify(event) });
}

t.test("an argument of 1 MB in 100,000 deltas", async (t) => {
  for (const client of ["messages", "chat"] as const) {
    t.test(
      `streams to a ${client} client, delta by delta, and is not kept in memory`,
      async (t) => {
        const counter = new Counter();
        const stream = translator(client, { model: "m" }, {}, counter);
        send(stream, longCall(client, DELTAS));
        // One event per delta, plus the start of the message and that of the block.
        t.equal(counter.events, DELTAS + 4);
        t.ok(counter.longest < 400, `longest event ${counter.longest}`);
        t.ok(heldChars(stream) < 2000, `held ${heldChars(stream)}`);
      },
    );
  }
});

t.test("what a translation has to buffer", async (t) => {
  const call = (index: number, id: string | undefined, args: string): object => ({
    choices: [
      { delta: { tool_calls: [{ index, id, function: { name: id && "f", arguments: args } }] } },
    ],
  });

  t.test("is written out once, and then released", async (t) => {
    const counter = new Counter();
    const stream = translator("messages", { model: "m" }, {}, counter);
    send(stream, [call(0, "a", "{"), call(1, "b", '{"x":"')]);
    for (let i = 0; i < 1000; i += 1) send(stream, [call(1, undefined, "x".repeat(100))]);
    t.ok(heldChars(stream) > 100_000);
    send(stream, [call(0, undefined, "}")]);
    t.ok(heldChars(stream) < 2000, `held ${heldChars(stream)}`);
    t.ok(counter.chars > 100_000);
  });

  t.test("is bounded: beyond the limit the stream ends with an error", async (t) => {
    const recorder = new Recorder();
    const stream = translator("messages", { model: "m" }, {}, recorder);
    send(stream, [call(0, "a", "{")]);
    const piece = { choices: [{ delta: { content: "x".repeat(1024 * 1024) } }] };
    for (let sent = 0; sent <= WAITING_CHARS_MAX; sent += 1024 * 1024) send(stream, [piece]);
    t.equal(recorder.written.at(-1)?.mark, "error");
    t.match(recorder.written.at(-1)?.text ?? "", /too much data out of order/);
  });

  t.test("can be thousands of calls at once", async (t) => {
    const counter = new Counter();
    const stream = translator("messages", { model: "m" }, {}, counter);
    const ids = Array.from({ length: 5000 }, (_, index) => index);
    send(
      stream,
      ids.map((index) => call(index, `c${index}`, "{")),
    );
    send(
      stream,
      ids.map((index) => call(index, undefined, "}")),
    );
    stream.event({ type: undefined, data: "[DONE]" });
    // A start, two deltas and a stop for each, and three events around them.
    t.equal(counter.events, 3 + 5000 * 4);
  });
});
