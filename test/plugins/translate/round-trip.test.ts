import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import {
  chatContext,
  chatToMessagesRequest,
} from "../../../plugins/translate/chat/read/request.ts";
import { chatToMessagesResponse } from "../../../plugins/translate/chat/read/stream.ts";
import {
  messagesContext,
  messagesToChatRequest,
} from "../../../plugins/translate/chat/write/request.ts";
import { messagesToChatResponse } from "../../../plugins/translate/chat/write/response.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { assembleChat, assembleMessages } from "./assemble.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";
import { type Client, type FixtureEvent, NOW_MS, pieces, run, serialise } from "./harness.ts";
import {
  checkChatRequest,
  checkChatStream,
  checkMessagesRequest,
  checkMessagesStream,
} from "./invariants.ts";
import { meaningOfChat, meaningOfMessages, originalNames } from "./meaning.ts";

const CHAT_PROFILES: readonly Profile[] = [
  {},
  { dialect: "compatible" },
  { dialect: "compatible", mid_system: "hoist" },
];

t.test("a conversation translated there and back keeps its meaning", async (t) => {
  t.test("from Messages over Chat", async () => {
    fc.assert(
      fc.property(messagesRequest, fc.constantFrom(...CHAT_PROFILES), (body, profile) => {
        const there = messagesToChatRequest(body, chatProfile(profile));
        assert.ok(there.ok, JSON.stringify(there));
        checkChatRequest(there.body);
        const names = there.context.toolNames;
        const meaning = meaningOfMessages(body, originalNames());
        assert.deepEqual(meaningOfChat(there.body, originalNames(names)), meaning);
        const back = chatToMessagesRequest(there.body, {});
        assert.ok(back.ok, JSON.stringify(back));
        checkMessagesRequest(back.body);
        const all = originalNames(back.context.toolNames, names);
        assert.deepEqual(meaningOfMessages(back.body, all), meaning);
      }),
      { numRuns: 1000 },
    );
  });

  t.test("from Chat over Messages, and every tool call gets its own id back", async () => {
    fc.assert(
      fc.property(chatRequest, fc.constantFrom("hoist", "inline"), (body, midSystem) => {
        const there = chatToMessagesRequest(body, { mid_system: midSystem });
        assert.ok(there.ok, JSON.stringify(there));
        checkMessagesRequest(there.body);
        const names = there.context.toolNames;
        const meaning = meaningOfChat(body, originalNames());
        assert.deepEqual(meaningOfMessages(there.body, originalNames(names)), meaning);
        const back = messagesToChatRequest(there.body, chatProfile({ dialect: "compatible" }));
        assert.ok(back.ok, JSON.stringify(back));
        checkChatRequest(back.body);
        const all = originalNames(back.context.toolNames, names);
        assert.deepEqual(meaningOfChat(back.body, all), meaning);
        assert.deepEqual(callIds(back.body), callIds(body));
      }),
      { numRuns: 1000 },
    );
  });
});

/** A reply, piece by piece, in the order the model sends it. */
type Piece =
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | { readonly kind: "signed"; readonly text: string; readonly signature: string }
  | { readonly kind: "call"; readonly name: string; readonly input: JsonObject };

const words = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
const spoken = words.filter((text) => text.trim() !== "");
/** The value after a round trip through JSON, which has no −0. */
const input = fc
  .dictionary(words, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true })
  .map((value): JsonObject => JSON.parse(JSON.stringify(value)));
const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constantFrom("text" as const, "thinking" as const), text: spoken }),
  fc.record({
    kind: fc.constant("signed" as const),
    text: words,
    signature: fc.constantFrom("s1", "s2"),
  }),
  fc.record({ kind: fc.constant("call" as const), name: fc.constantFrom("f", "g"), input }),
);
/** Joins consecutive texts, however they are split, and thinking up to a signature. */
const answer = fc.array(piece, { maxLength: 6 }).map((all) =>
  all.reduce<Piece[]>((kept, one) => {
    const before = kept.at(-1)?.kind;
    const joinsText = before === "text" && one.kind === "text";
    const joinsThought =
      before === "thinking" && (one.kind === "thinking" || one.kind === "signed");
    if (!joinsText && !joinsThought) kept.push(one);
    return kept;
  }, []),
);
const usage = fc.record({
  input: fc.nat(999),
  read: fc.nat(999),
  written: fc.nat(999),
  output: fc.nat(999),
});
type Usage = { input: number; read: number; written: number; output: number };
const stop = fc.constantFrom("end_turn", "max_tokens");

t.test("a reply translated there and back is the same reply", async (t) => {
  t.test("unstreamed, from Messages over Chat", async () => {
    fc.assert(
      fc.property(answer, usage, stop, (all, used, reason) => {
        // An unstreamed Chat reply has one field each for thinking, text and calls.
        const kinds = ["signed", "text", "call"];
        const order = (one: Piece) => kinds.indexOf(one.kind === "thinking" ? "signed" : one.kind);
        const sorted = all
          .filter(({ kind }) => kind !== "thinking")
          .sort((a, b) => order(a) - order(b));
        const texts = sorted.flatMap((one) => (one.kind === "text" ? [one.text] : []));
        const joined = sorted.filter(({ kind }) => kind !== "text");
        const content = joined.filter(({ kind }) => kind === "signed").map(blockOf);
        if (texts.length > 0) content.push({ type: "text", text: texts.join("") });
        for (const [at, one] of joined.filter(({ kind }) => kind === "call").entries()) {
          content.push({ ...blockOf(one), id: `toolu_${at}` });
        }
        const called = joined.some(({ kind }) => kind === "call");
        const stopReason = reason === "end_turn" && called ? "tool_use" : reason;
        const body = {
          id: "msg_1",
          type: "message",
          content,
          stop_reason: stopReason,
          usage: messagesUsage(used),
        };
        const there = messagesToChatResponse(body, chatContext({ model: "m" }), NOW_MS);
        const back = chatToMessagesResponse(
          there.body,
          messagesContext({ model: "m" }, chatProfile()),
        );
        const expected = { ...body, role: "assistant", model: "m", stop_sequence: null };
        assert.deepEqual(back, { status: 200, body: expected });
      }),
      { numRuns: 1000 },
    );
  });

  t.test("streamed, from Messages over Chat", async () => {
    const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 4 }));
    fc.assert(
      fc.property(
        answer,
        usage,
        stop,
        cuts,
        fc.integer({ min: 1, max: 99 }),
        (all, used, reason, sizes, size) => {
          const called = all.some(({ kind }) => kind === "call");
          const stopReason = reason === "end_turn" && called ? "tool_use" : reason;
          const events = [...messagesStream(all, used, stopReason, sizes)];
          const there = translated("chat", events, size);
          const back = translated("messages", there.events, size);
          checkMessagesStream(back.events);
          const found = assembleMessages(back);
          assert.deepEqual(found["blocks"], all.map(assembledOf));
          assert.equal(found["stop_reason"], stopReason);
          assert.deepEqual(found["usage"], messagesUsage(used));
        },
      ),
      { numRuns: 500 },
    );
  });

  t.test("streamed, from Chat over Messages, with the deltas of calls in any order", async () => {
    const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 4 }));
    const dealt = fc.infiniteStream(fc.nat(9));
    fc.assert(
      fc.property(
        answer,
        usage,
        stop,
        cuts,
        dealt,
        fc.integer({ min: 1, max: 99 }),
        (all, used, reason, sizes, deal, size) => {
          const events = [
            ...chatStream(all, used, reason === "max_tokens" ? "length" : "stop", sizes, deal),
          ];
          const there = translated("messages", events, size);
          checkMessagesStream(there.events);
          const back = translated("chat", there.events, size);
          checkChatStream(back.events, true);
          const found = assembleChat(back);
          const texts = (kind: string) =>
            all.flatMap((one) => (one.kind === kind && "text" in one ? [one.text] : []));
          assert.equal(String(found["text"]).trim(), texts("text").join("").trim());
          assert.equal(found["reasoning"], texts("thinking").join(""));
          const calls = all.filter((one) => one.kind === "call");
          const expected = calls.map((one, at) => ({
            id: `c${at}`,
            type: "function",
            name: one.name,
            arguments: JSON.stringify(one.input),
          }));
          assert.deepEqual(
            found["tool_calls"],
            expected.map((one) => ({ ...one })),
          );
          const finish =
            reason === "max_tokens" ? "length" : calls.length > 0 ? "tool_calls" : "stop";
          assert.equal(found["finish_reason"], finish);
          assert.deepEqual(found["usage"], chatUsage(used));
        },
      ),
      { numRuns: 500 },
    );
  });
});

function translated(client: Client, events: readonly FixtureEvent[], size: number) {
  const request = { model: "m", stream: true, stream_options: { include_usage: true } };
  return run(client, request, {}, pieces(serialise(events), size), "eof").clientSide();
}

function callIds(body: JsonObject): unknown[] {
  const ids: unknown[] = [];
  const messages = Array.isArray(body["messages"]) ? body["messages"] : [];
  for (const { tool_calls: calls, tool_call_id: id } of messages) {
    for (const call of calls ?? []) ids.push(call.id);
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

function blockOf(one: Piece): JsonObject {
  if (one.kind === "call") return { type: "tool_use", name: one.name, input: one.input };
  if (one.kind === "text") return { type: "text", text: one.text };
  const signature = one.kind === "signed" ? one.signature : "";
  return { type: "thinking", thinking: one.text, signature };
}

function assembledOf(one: Piece, at: number): JsonObject {
  if (one.kind !== "call") return blockOf(one);
  return {
    type: "tool_use",
    id: `toolu_${at}`,
    name: one.name,
    input_json: JSON.stringify(one.input),
  };
}

function messagesUsage(used: Usage): JsonObject {
  return {
    input_tokens: used.input,
    cache_creation_input_tokens: used.written,
    cache_read_input_tokens: used.read,
    output_tokens: used.output,
  };
}

function chatUsage(used: Usage): JsonObject {
  const prompt = used.input + used.read + used.written;
  return {
    prompt_tokens: prompt,
    completion_tokens: used.output,
    total_tokens: prompt + used.output,
    prompt_tokens_details: { cached_tokens: used.read, cache_write_tokens: used.written },
  };
}

/** Text split into pieces of given sizes, never within a character. */
function* cut(text: string, sizes: Iterator<number>): Generator<string> {
  const characters = Array.from(text);
  for (let at = 0; at < characters.length; ) {
    const size = sizes.next().value ?? 1;
    yield characters.slice(at, at + size).join("");
    at += size;
  }
}

function* messagesStream(
  all: readonly Piece[],
  used: Usage,
  stopReason: string,
  sizes: Iterator<number>,
): Generator<FixtureEvent> {
  const event = (type: string, fields: JsonObject): FixtureEvent => ({
    event: type,
    data: { type, ...fields },
  });
  yield event("message_start", { message: { id: "msg_1", usage: messagesUsage(used) } });
  for (const [index, one] of all.entries()) {
    const delta = (fields: JsonObject) => event("content_block_delta", { index, delta: fields });
    if (one.kind === "call") {
      const block = { ...blockOf(one), id: `toolu_${index}`, input: {} };
      yield event("content_block_start", { index, content_block: block });
      for (const text of cut(JSON.stringify(one.input), sizes))
        yield delta({ type: "input_json_delta", partial_json: text });
    } else if (one.kind === "text") {
      yield event("content_block_start", { index, content_block: { type: "text", text: "" } });
      for (const text of cut(one.text, sizes)) yield delta({ type: "text_delta", text });
    } else {
      yield event("content_block_start", {
        index,
        content_block: { type: "thinking", thinking: "", signature: "" },
      });
      for (const text of cut(one.text, sizes))
        yield delta({ type: "thinking_delta", thinking: text });
      if (one.kind === "signed") yield delta({ type: "signature_delta", signature: one.signature });
    }
    yield event("content_block_stop", { index });
  }
  yield event("message_delta", {
    delta: { stop_reason: stopReason },
    usage: { output_tokens: used.output },
  });
  yield event("message_stop", {});
}

/** A Chat stream in which the arguments of neighbouring calls alternate. */
function* chatStream(
  all: readonly Piece[],
  used: Usage,
  finish: string,
  sizes: Iterator<number>,
  deal: Iterator<number>,
): Generator<FixtureEvent> {
  const chunk = (delta: JsonObject, reason: string | null = null): FixtureEvent => ({
    data: { id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason: reason }] },
  });
  yield chunk({ role: "assistant", content: "" });
  let calls = 0;
  let open: Iterator<FixtureEvent>[] = [];
  const args = function* (index: number, text: string): Generator<FixtureEvent> {
    for (const part of cut(text, sizes))
      yield chunk({ tool_calls: [{ index, function: { arguments: part } }] });
  };
  const drain = function* (): Generator<FixtureEvent> {
    while (open.length > 0) {
      const taken = open[(deal.next().value ?? 0) % open.length];
      const next = taken?.next();
      if (next === undefined || next.done) open = open.filter((other) => other !== taken);
      else yield next.value;
    }
  };
  for (const one of all) {
    if (one.kind === "call") {
      const called = { name: one.name, arguments: "" };
      yield chunk({
        tool_calls: [{ index: calls, id: `c${calls}`, type: "function", function: called }],
      });
      open.push(args(calls, JSON.stringify(one.input)));
      calls += 1;
      continue;
    }
    yield* drain();
    for (const text of cut(one.text, sizes)) {
      if (one.kind === "text") yield chunk({ content: text });
      else if (one.kind === "thinking") yield chunk({ reasoning_content: text });
    }
  }
  yield* drain();
  yield chunk({}, finish);
  yield { data: { id: "chatcmpl-1", choices: [], usage: chatUsage(used) } };
  yield { data: "[DONE]" };
}
