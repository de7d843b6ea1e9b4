import assert from "node:assert/strict";
import t from "tap";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import { COMPLETE, type Outcome } from "../../../core/plugin/call.ts";
import type { Sink } from "../../../core/plugin/plugin.ts";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { kindOf } from "../../../core/wire/wire.ts";
import { wires } from "../../../core/wire/wires.ts";
import { chatToMessagesRequest } from "../../../plugins/translate/chat/read/request.ts";
import { ChatToMessagesStream } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesToChatRequest } from "../../../plugins/translate/chat/write/request.ts";
import { MessagesToChatStream } from "../../../plugins/translate/chat/write/stream.ts";
import { KeepAlivePings } from "../../../plugins/translate/keep-alive-pings.ts";
import { chatProfile, messagesProfile } from "../../../plugins/translate/profile.ts";
import { TranslatingSink } from "../../../plugins/translate/translating-sink.ts";
import { newCall } from "../../support/call.ts";
import { stoppedTimers } from "../../support/stopped-timers.ts";

const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
const COMMENT = ": ping\n\n";

/** The text that a client has received. */
class Client implements Sink {
  text = "";
  outcome: Outcome | undefined;
  private readonly protocol: "messages" | "chat";
  constructor(protocol: "messages" | "chat") {
    this.protocol = protocol;
  }
  head(): void {}
  event(event: ServerEvent): void {
    const sameBytes = new ServerEvent(event.raw);
    assert.equal(event.kind, kindOf(sameBytes, wires[this.protocol]), String(event.raw));
    this.text += Buffer.from(event.raw).toString();
  }
  data(): void {}
  end(outcome: Outcome): void {
    this.outcome = outcome;
  }
}

/** One translated stream with its parts, on a clock that only the test moves. */
function open(protocol: "messages" | "chat", clock: { ms: number }) {
  const endpoint = endpoints.find((entry) => entry.protocol === protocol);
  assert.ok(endpoint);
  const call = newCall(endpoint);
  let flushes = 0;
  const flow = { pause() {}, resume() {}, cut() {} };
  const core = { bug() {}, clientWaits() {}, cutIfSilent() {}, overdue() {} };
  call.flow = { ...flow, ...core, flush: () => flushes++ };
  const client = new Client(protocol);
  const request = {
    model: "m",
    max_tokens: 9,
    stream: true,
    messages: [{ role: "user", content: "x" }],
  };
  const translation = {
    reply: () => ({ status: 200, body: {} }),
    error: () => ({ status: 500, body: {} }),
    stream(out: TranslatingSink) {
      if (protocol === "messages") {
        const made = messagesToChatRequest(request, chatProfile({}));
        assert.ok(made.ok);
        return new ChatToMessagesStream(made.context, out);
      }
      const made = chatToMessagesRequest(request, messagesProfile({}));
      assert.ok(made.ok);
      return new MessagesToChatStream(made.context, out, 0);
    },
  };
  const time = { now: () => clock.ms, monotonic: () => clock.ms };
  const sink = new TranslatingSink(call, client, translation, time, () => {});
  const send = (...events: readonly object[]) => {
    for (const event of events) {
      sink.event(new ServerEvent(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)));
    }
  };
  return { sink, client, send, flushes: () => flushes };
}

const CHAT_CHUNK = { id: "c", choices: [{ index: 0, delta: { content: "one" } }] };
const CHAT_END = { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
const MESSAGE_START = { type: "message_start", message: { id: "msg_1" } };
const MESSAGE_END = [
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop" },
];

t.test("a translated stream whose upstream is silent", async (t) => {
  const clock = { ms: 0 };
  let timers: ReturnType<typeof stoppedTimers>;
  t.beforeEach((t) => {
    timers = stoppedTimers(t);
    clock.ms = 0;
  });

  function watching(...sinks: TranslatingSink[]): KeepAlivePings {
    const silences = new KeepAlivePings();
    silences.start();
    for (const sink of sinks) silences.watch(sink);
    return silences;
  }
  function pass(ms: number): void {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.ms += 1000;
      timers.pass(1000);
    }
  }
  const count = (text: string, part: string) => text.split(part).length - 1;

  for (const [protocol, first, ping] of [
    ["messages", CHAT_CHUNK, PING],
    ["chat", MESSAGE_START, COMMENT],
  ] as const) {
    t.test(`gets a ${protocol} ping every 15 s, sent at once`, async (t) => {
      const { sink, client, send, flushes } = open(protocol, clock);
      const silences = watching(sink);
      send(first);
      pass(14_000);
      t.equal(count(client.text, ping), 0);
      pass(1_000);
      t.equal(count(client.text, ping), 1);
      t.ok(client.text.endsWith(ping));
      t.equal(flushes(), 1);
      pass(45_000);
      t.equal(count(client.text, ping), 4);
      silences.stop();
    });

    t.test(
      `gets no ${protocol} ping before its first event, so that an error can still have a status`,
      async (t) => {
        const { sink, client } = open(protocol, clock);
        const silences = watching(sink);
        pass(120_000);
        t.equal(client.text, "");
        silences.stop();
      },
    );

    t.test(`gets no ${protocol} ping while events flow`, async (t) => {
      const { sink, client, send } = open(protocol, clock);
      const silences = watching(sink);
      for (let at = 0; at < 10; at++) {
        if (protocol === "messages") send(CHAT_CHUNK);
        else
          send(MESSAGE_START, {
            type: "content_block_delta",
            index: 0,
            delta: { type: "text_delta", text: "a" },
          });
        pass(10_000);
      }
      t.equal(count(client.text, ping), 0);
      silences.stop();
    });
  }

  t.test("gets nothing after its end", async (t) => {
    const messages = open("messages", clock);
    const chat = open("chat", clock);
    const silences = watching(messages.sink, chat.sink);
    messages.send(CHAT_CHUNK, CHAT_END);
    messages.sink.event(new ServerEvent(Buffer.from("data: [DONE]\n\n")));
    chat.send(MESSAGE_START, ...MESSAGE_END);
    // Between its last event and its charge a stream is still open.
    pass(30_000);
    for (const { sink } of [messages, chat]) sink.end(COMPLETE);
    pass(30_000);
    for (const { client } of [messages, chat]) {
      t.strictSame(client.outcome, COMPLETE);
      t.equal(count(client.text, "ping"), 0);
    }
    silences.stop();
  });
});
