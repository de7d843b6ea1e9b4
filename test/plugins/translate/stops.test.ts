import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { SseReader } from "../../../core/sse/reader.ts";
import { StopMatcher } from "../../../plugins/translate/stops/matcher.ts";
import { cutAtStops } from "../../../plugins/translate/stops/reply.ts";
import { stopsBeyond, withoutStops } from "../../../plugins/translate/stops/request.ts";
import { assembleMessages } from "./assemble.ts";
import { pieces, Recorder, serialise } from "./harness.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n", "😀"), maxLength: 20 });
const stops = fc.array(
  fc.string({ unit: fc.constantFrom("a", "b", "\n", "😀"), minLength: 1, maxLength: 4 }),
  { minLength: 1, maxLength: 3 },
);

t.test("a text is cut at the first stop sequence, however it is split", async () => {
  fc.assert(
    fc.property(letters, stops, fc.array(fc.nat(5)), (text, sequences, sizes) => {
      const at = sequences
        .map((stop) => [text.indexOf(stop) + stop.length, text.indexOf(stop)] as const)
        .filter(([, place]) => place >= 0)
        .sort(([a, x], [b, y]) => a - b || x - y);
      const expected = text.slice(0, at[0]?.[1]);
      const matcher = new StopMatcher(sequences);
      let got = "";
      let from = 0;
      for (const size of [...sizes, text.length]) {
        if (matcher.matched !== undefined) break;
        got += matcher.push(text.slice(from, from + size));
        from += size;
      }
      if (matcher.matched === undefined) got += matcher.rest();
      assert.equal(got, expected);
      assert.equal(matcher.matched !== undefined, at.length > 0);
    }),
    { numRuns: 3_000 },
  );
});

t.test("text that no stop sequence can begin with is not held", async (t) => {
  const matcher = new StopMatcher(["</block>"]);
  t.equal(matcher.push("a <b"), "a <b");
  t.equal(matcher.push("x </bl"), "x ");
  t.equal(matcher.push("ank"), "</blank");
  t.equal(matcher.push("</blo"), "");
  t.equal(matcher.push("ck> more"), "");
  t.equal(matcher.matched, "</block>");
});

const CUT = { sequences: ["STOP"], awaitsReport: false };
const usage = { input_tokens: 3, output_tokens: 1 };
const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
type Event = { readonly type: string } & JsonObject;

const EVENTS: readonly Event[] = [
  { type: "message_start", message },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
  ...delta(0, { type: "thinking_delta", thinking: "STOP" }),
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "one " } },
  ...delta(1, { type: "text_delta", text: "two ST" }, { type: "text_delta", text: "OP three" }),
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "t", name: "f" },
  },
  ...delta(2, { type: "input_json_delta", partial_json: "{}" }),
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];

function delta(index: number, ...deltas: object[]): Event[] {
  const events = deltas.map((one) => ({ type: "content_block_delta", index, delta: one }));
  return [...events, { type: "content_block_stop", index }];
}

function run(size?: number, end = EVENTS.length): Recorder & { stops: number } {
  const recorder = Object.assign(new Recorder(), { stops: 0 });
  const client = Object.assign(recorder, { stopped: () => void recorder.stops++ });
  const stream = cutAtStops(undefined, undefined, CUT).stream(client);
  const bytes = serialise(EVENTS.slice(0, end).map((data) => ({ event: data.type, data })));
  const reader = new SseReader();
  for (const piece of pieces(bytes, size)) reader.push(piece, (event) => stream.event(event));
  stream.end("eof");
  return recorder;
}

const KEPT = [
  { type: "thinking", thinking: "STOP" },
  { type: "text", text: "one two " },
];

t.test("a stream keeps the text before the stop sequence, and no block after it", async (t) => {
  for (const size of [undefined, 1, 7]) {
    const recorder = run(size);
    const got = assembleMessages(recorder.clientSide());
    t.match(got["blocks"], KEPT);
    t.equal([got["blocks"]].flat().length, 2);
    t.equal(got["stop_reason"], "stop_sequence");
    t.equal(got["stop_sequence"], "STOP");
    t.match(got["usage"], { output_tokens: 9 }, "the provider's report");
    t.equal(recorder.stops, 1);
  }
});

t.test("a stream whose upstream is cut after the stop sequence is complete", async (t) => {
  const recorder = run(undefined, 8);
  t.match(assembleMessages(recorder.clientSide()), {
    blocks: KEPT,
    stop_sequence: "STOP",
    error: null,
  });
  t.equal(recorder.written.at(-1)?.mark, "terminal");
});

t.test("a whole reply is cut in the same way", async (t) => {
  const content = [
    { type: "thinking", thinking: "STOP", signature: "" },
    { type: "text", text: "one two STOP three" },
    { type: "tool_use", id: "t", name: "f", input: {} },
  ];
  const { body } = cutAtStops(undefined, undefined, CUT).reply({ ...message, content });
  t.match(body, { content: KEPT, stop_reason: "stop_sequence", stop_sequence: "STOP" });
});

t.test("the gateway cuts at what the model does not take", async (t) => {
  const chat = { stop: ["a", " "] };
  t.strictSame(stopsBeyond(chat, "chat", "messages", {}), [" "], "Claude takes no white space");
  t.strictSame(stopsBeyond(chat, "chat", "responses", {}), ["a", " "]);
  t.strictSame(stopsBeyond(chat, "chat", "chat", { stop: false }), ["a", " "]);
  t.strictSame(stopsBeyond(chat, "chat", "chat", {}), []);
  t.strictSame(stopsBeyond({ stop: "a" }, "chat", "chat", { stop: false }), ["a"]);
  t.strictSame(stopsBeyond({ stop_sequences: ["a", "b"] }, "messages", "chat", { max_stops: 1 }), [
    "a",
    "b",
  ]);
  const taken = withoutStops(chat, "chat", [" "]);
  t.match(taken, { ok: true, body: { stop: ["a"], stream: true } });
  t.match(withoutStops({ stop: "a", n: 2 }, "chat", ["a"]), { ok: false });
  t.match(withoutStops({ stop: "a" }, "chat", ["a".repeat(1_025)]), { ok: false });
});
