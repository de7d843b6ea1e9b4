import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { type JsonObject, objectOf } from "../../../core/process/json.ts";
import { SseReader } from "../../../core/sse/reader.ts";
import { chatToMessagesRequest } from "../../../plugins/translate/chat/read/request.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import type { OriginalNames } from "../../../plugins/translate/names.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { responsesToMessagesRequest } from "../../../plugins/translate/responses/read/request.ts";
import {
  ResponsesToMessagesStream,
  responsesToMessages,
} from "../../../plugins/translate/responses/read/stream.ts";
import { originalTool } from "../../../plugins/translate/responses/read/tools.ts";
import { messagesToResponsesRequest } from "../../../plugins/translate/responses/write/request.ts";
import { messagesToResponse } from "../../../plugins/translate/responses/write/response.ts";
import { MessagesToResponsesStream } from "../../../plugins/translate/responses/write/stream.ts";
import { StateSeal, stateOf } from "../../../plugins/translate/state/seal.ts";
import type { StreamTranslator } from "../../../plugins/translate/stream.ts";
import { assembleMessages } from "./assemble.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";
import { countingText, NOW_MS, pieces, Recorder, serialise } from "./harness.ts";
import { checkMessagesStream } from "./invariants.ts";
import { type Meaning, meaningOfChat, meaningOfMessages, originalNames } from "./meaning.ts";

const maker = stateOf(StateSeal.of("a secret"), "openai");
const PROFILE = { dialect: "compatible" } as const;

/** Responses has no stop sequences, and caps of 16 or more. */
function asResponses(meaning: Meaning): Meaning {
  return { ...meaning, stops: [], cap: Math.max(16, Number(meaning.cap)) };
}

/** Reads a Responses request into Messages, and returns its meaning. */
function meaningOf(body: object, names: readonly OriginalNames[]): Meaning {
  const back = responsesToMessagesRequest(body, {}, false);
  assert.ok(back.ok, JSON.stringify(back));
  const own = (name: unknown) => originalTool(back.context.tools, String(name)).name;
  const all = originalNames(...names);
  return meaningOfMessages({ ...back.body }, (name) => all(own(name)));
}

t.test("a conversation translated to Responses and back keeps its meaning", async (t) => {
  t.test("from Messages", async () => {
    fc.assert(
      fc.property(messagesRequest, (given) => {
        const { stop_sequences: _, ...body } = given;
        const there = messagesToResponsesRequest(body, PROFILE, false, maker);
        assert.ok(there.ok, JSON.stringify(there));
        const meaning = asResponses(meaningOfMessages(body, originalNames()));
        assert.deepEqual(meaningOf(there.body, [there.context.toolNames]), meaning);
      }),
      { numRuns: 1000 },
    );
  });

  t.test("from Chat, over Messages", async () => {
    fc.assert(
      fc.property(chatRequest, (given) => {
        const { stop: _, ...body } = given;
        const first = chatToMessagesRequest(body, {}, false);
        assert.ok(first.ok, JSON.stringify(first));
        const there = messagesToResponsesRequest(first.body, PROFILE, false, maker);
        assert.ok(there.ok, JSON.stringify(there));
        const { cap, ...meaning } = asResponses(meaningOfChat(body, originalNames()));
        const names = [there.context.toolNames, first.context.toolNames] as const;
        const { cap: sent, ...found } = meaningOf(there.body, names);
        assert.deepEqual(found, meaning);
        if (!Number.isNaN(Number(cap))) assert.equal(sent, cap);
      }),
      { numRuns: 1000 },
    );
  });

  t.test("a field that Responses does not have is refused or named", async (t) => {
    const plain = { model: "m", max_tokens: 99, messages: [{ role: "user", content: "q" }] };
    const refused: readonly [object, string][] = [
      [{ container: "c" }, "container"],
      [{ mcp_servers: [{}] }, "mcp_servers"],
      [{ tools: [{ type: "web_search_20250305", name: "w" }] }, "tools"],
    ];
    for (const [more, param] of refused) {
      const made = messagesToResponsesRequest({ ...plain, ...more }, {}, false, maker);
      t.match(made, { ok: false, reject: { param, code: "unsupported_parameter" } });
    }
    const hints = { top_k: 3, context_management: {}, cache_control: { type: "ephemeral" } };
    const made = messagesToResponsesRequest({ ...plain, ...hints }, {}, false, maker);
    t.match(made, { ok: true, dropped: ["context_management", "cache_control", "top_k"] });
  });
});

/** A block of a reply, as a model sends it. */
type Block =
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly input: JsonObject };

const words = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
const spoken = words.filter((text) => text.trim() !== "");
const input = fc
  .dictionary(words, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true })
  .map((value): JsonObject => JSON.parse(JSON.stringify(value)));
const block: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ kind: fc.constantFrom("text" as const, "thinking" as const), text: spoken }),
  fc.record({ kind: fc.constant("call" as const), name: fc.constantFrom("f", "g"), input }),
);
/** Texts are never neighbours: they would be one. */
const blocks = fc
  .array(block, { minLength: 1, maxLength: 6 })
  .map((all) => all.filter(({ kind }, at) => kind !== "text" || all[at - 1]?.kind !== "text"));
const usage = fc
  .record({
    input_tokens: fc.nat(999),
    cache_creation_input_tokens: fc.nat(999),
    cache_read_input_tokens: fc.nat(999),
    output_tokens: fc.nat(999),
  })
  .map((used) => ({ ...used }));

const asked = responsesToMessagesRequest(
  { model: "m", input: "q", reasoning: { summary: "auto" } },
  {},
  true,
);
assert.ok(asked.ok);
const responses = asked.context;
const messages = { ...messagesContext({ model: "m" }, chatProfile()), state: maker };

function contentOf(all: readonly Block[]): JsonObject[] {
  return all.map((one, at) => {
    if (one.kind === "text") return { type: "text", text: one.text };
    if (one.kind === "call") {
      return { type: "tool_use", id: `toolu_${at}`, name: one.name, input: one.input };
    }
    return { type: "thinking", thinking: one.text, signature: `s${at}` };
  });
}

/** Without signatures: each maker signs for itself. */
function unsigned(content: unknown): unknown {
  return JSON.parse(JSON.stringify(content, (key, v) => (key === "signature" ? undefined : v)));
}

t.test("a reply translated to Responses and back is the same reply", async (t) => {
  t.test("unstreamed", async () => {
    fc.assert(
      fc.property(blocks, usage, fc.constantFrom("end_turn", "max_tokens"), (all, used, reason) => {
        const called = all.some(({ kind }) => kind === "call");
        const stop_reason = reason === "end_turn" && called ? "tool_use" : reason;
        const body = { type: "message", content: contentOf(all), stop_reason, usage: used };
        const there = messagesToResponse(body, responses, NOW_MS);
        const back = responsesToMessages(there.body, messages);
        const seen = objectOf(back.body) ?? {};
        assert.deepEqual(unsigned(seen["content"]), unsigned(body.content));
        assert.equal(seen["stop_reason"], stop_reason);
        const { output_tokens_details: _, ...shown } = objectOf(seen["usage"]) ?? {};
        assert.deepEqual(shown, used);
      }),
      { numRuns: 500 },
    );
  });

  t.test("streamed, cut at any byte", async () => {
    fc.assert(
      fc.property(
        blocks,
        usage,
        fc.constantFrom("end_turn", "max_tokens"),
        fc.integer({ min: 1, max: 99 }),
        (all, used, reason, size) => {
          const called = all.some(({ kind }) => kind === "call");
          const stopReason = reason === "end_turn" && called ? "tool_use" : reason;
          const there = new Recorder();
          const writer = new MessagesToResponsesStream(responses, there, NOW_MS, countingText());
          feed(writer, serialise([...streamOf(all, used, stopReason)]), size);
          const back = new Recorder();
          const reader = new ResponsesToMessagesStream(messages, back, countingText());
          feed(reader, Buffer.from(there.text), size);
          const side = back.clientSide();
          checkMessagesStream(side.events);
          const found = assembleMessages(side);
          const expected = contentOf(all).map(({ input: given, ...one }) =>
            given === undefined ? one : { ...one, input_json: JSON.stringify(given) },
          );
          assert.deepEqual(unsigned(found["blocks"]), unsigned(expected));
          assert.equal(found["stop_reason"], stopReason);
          const { output_tokens_details: _, ...shown } = found["usage"] as JsonObject;
          assert.deepEqual(shown, used);
        },
      ),
      { numRuns: 500 },
    );
  });
});

function feed(stream: StreamTranslator, bytes: Buffer, size: number): void {
  const reader = new SseReader();
  const take = (event: Parameters<StreamTranslator["event"]>[0]) => stream.event(event);
  for (const piece of pieces(bytes, size)) reader.push(piece, take);
  reader.end(take);
  stream.end("eof");
}

function* streamOf(all: readonly Block[], used: JsonObject, stop_reason: string) {
  const event = (type: string, fields: object) => ({ event: type, data: { type, ...fields } });
  yield event("message_start", { message: { id: "msg_1", usage: used } });
  for (const [index, block] of contentOf(all).entries()) {
    const { text, thinking, signature, input: given, ...head } = block;
    const delta = (fields: object) => event("content_block_delta", { index, delta: fields });
    const content_block =
      head["type"] === "tool_use"
        ? { ...head, input: {} }
        : head["type"] === "text"
          ? { ...head, text: "" }
          : { ...head, thinking: "", signature: "" };
    yield event("content_block_start", { index, content_block });
    const half = (value: unknown) => [String(value).slice(0, 1), String(value).slice(1)];
    if (text !== undefined)
      for (const one of half(text)) yield delta({ type: "text_delta", text: one });
    if (thinking !== undefined) {
      for (const one of half(thinking)) yield delta({ type: "thinking_delta", thinking: one });
      yield delta({ type: "signature_delta", signature });
    }
    if (given !== undefined) {
      for (const one of half(JSON.stringify(given))) {
        yield delta({ type: "input_json_delta", partial_json: one });
      }
    }
    yield event("content_block_stop", { index });
  }
  yield event("message_delta", { delta: { stop_reason }, usage: used });
  yield event("message_stop", {});
}
