import t from "tap";
import { arrayOf, objectOf } from "../../../core/process/json.ts";
import { ChatToMessagesStream } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import {
  ResponsesToMessagesStream,
  responsesToMessages,
} from "../../../plugins/translate/responses/read/stream.ts";
import { StateSeal, stateOf } from "../../../plugins/translate/state/seal.ts";
import { countingText, Recorder } from "./harness.ts";

const seal = StateSeal.of("secret");

t.test("no upstream opens the state of another one with a similar name", async (t) => {
  const names = ["local", "local-1", "local-2", "local_1", "Local", "1", "2", "lo.cal", "ai/a"];
  for (const name of names) {
    const envelope = stateOf(seal, name).pack("state", "text");
    for (const other of names) {
      const opened = stateOf(seal, other).open(envelope, "text");
      t.equal(opened, other === name ? "state" : undefined, `${name} at ${other}`);
    }
  }
});

t.test("a maker opens its state behind each of its routes", async (t) => {
  const envelope = stateOf(seal, "google").pack("state", "");
  t.equal(stateOf(StateSeal.of("secret"), "google").open(envelope, ""), "state");
});

const google = stateOf(seal, "google");

t.test("items of a whole Responses reply are blocks with their state", async (t) => {
  const thought = (text: string, encrypted_content?: string) => ({
    type: "reasoning",
    summary: [{ type: "summary_text", text }],
    ...(encrypted_content !== undefined && { encrypted_content }),
  });
  const said = [
    { type: "output_text", text: "x" },
    { type: "refusal", refusal: "no" },
  ];
  const output = [
    thought("s"),
    thought("t", "E"),
    thought("u"),
    { type: "message", content: said },
  ];
  const context = { ...messagesContext({ model: "m" }, chatProfile({})), state: google };
  const { body } = responsesToMessages({ status: "completed", output }, context);
  const content = arrayOf(objectOf(body)?.["content"]).map((block) => objectOf(block) ?? {});
  const seen = content.map(({ text, thinking, signature }) =>
    thinking === undefined ? text : [thinking, google.open(String(signature), String(thinking))],
  );
  t.strictSame(seen, [["s", ""], ["t", "E"], ["u", ""], "x", "no"]);
});

t.test("a thought without state that ends behind a text does not break the text", async (t) => {
  const recorder = new Recorder();
  const context = { ...messagesContext({ model: "m" }, chatProfile({})), state: google };
  const stream = new ResponsesToMessagesStream(context, recorder, countingText());
  const text = (delta: string) => ({
    ...{ type: "response.output_text.delta", output_index: 1, content_index: 0, delta },
  });
  for (const event of [
    { type: "response.created", response: { id: "r" } },
    { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "hm" },
    text("a"),
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "reasoning", summary: [] },
    },
    text("b"),
    { type: "response.completed", response: { status: "completed", output: [] } },
  ]) {
    stream.event({ type: event.type, data: JSON.stringify(event) });
  }
  stream.end();
  const kinds = recorder.clientSide().events.map(({ data }) => {
    const { content_block: block } = objectOf(data) ?? {};
    return objectOf(block)?.["type"];
  });
  t.strictSame(
    kinds.filter((kind) => kind !== undefined),
    ["thinking", "text"],
  );
});

const signed = (thought_signature: string) => ({
  extra_content: { google: { thought_signature } },
});

/** The kinds of the streamed blocks, with the state of each block of thinking as Google reads it. */
function blocksOf(deltas: readonly object[]): string[] {
  const recorder = new Recorder();
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "q" }] };
  const context = { ...messagesContext(body, chatProfile({})), state: google };
  const stream = new ChatToMessagesStream(context, recorder, countingText());
  for (const delta of deltas) {
    stream.event({ type: undefined, data: JSON.stringify({ choices: [{ index: 0, delta }] }) });
  }
  const last = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
  stream.event({ type: undefined, data: JSON.stringify(last) });
  stream.end("eof");
  const blocks: { kind: string; text: string; signature: string }[] = [];
  for (const { data } of recorder.clientSide().events) {
    // biome-ignore lint/suspicious/noExplicitAny: events have many shapes
    const { content_block: block, delta } = data as any;
    if (block) blocks.push({ kind: block.name ?? block.type, text: "", signature: "" });
    const open = blocks.at(-1);
    if (open && delta?.thinking) open.text += delta.thinking;
    if (open && delta?.signature) open.signature = delta.signature;
  }
  return blocks.map(({ kind, text, signature }) => {
    if (kind !== "thinking") return kind;
    const state = google.open(signature, text);
    return state === undefined ? "unreadable thinking" : `thinking ${text}${state}`;
  });
}

t.test(
  "state that waits for a call stays apart from the thinking that waits before it",
  async (t) => {
    const call = (index: number, more: object, called: object) => ({
      tool_calls: [{ index, ...more, function: called }],
    });
    const open = call(0, { id: "a", ...signed("S0") }, { name: "first", arguments: '{"x":' });
    const second = call(1, { id: "b", ...signed("S1") }, { name: "second", arguments: "{}" });
    const rest = call(0, {}, { arguments: "1}" });
    t.strictSame(blocksOf([open, { reasoning_content: "hm" }, second, rest]), [
      ...["thinking S0", "first", "thinking hm", "thinking S1", "second"],
    ]);
    const late = call(1, signed("S1"), {});
    const unsigned = call(1, { id: "b" }, { name: "second", arguments: "{}" });
    t.strictSame(
      blocksOf([open, unsigned, late, rest]),
      ["thinking S0", "first", "thinking S1", "second"],
      "state in a later event than its call",
    );
    const unnamed = call(0, { id: "a", ...signed("S0") }, { arguments: "{}" });
    t.strictSame(
      blocksOf([unnamed, second, call(0, {}, { name: "first" })]),
      ["thinking S1", "second", "thinking S0", "first"],
      "a call that gets its name after another one",
    );
  },
);
