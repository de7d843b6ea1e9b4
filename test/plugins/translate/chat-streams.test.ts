import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import type { End } from "../../../plugins/translate/stream.ts";
import { assembleChat } from "./assemble.ts";
import {
  asksForUsage,
  type FixtureEvent,
  Recorder,
  run,
  serialise,
  translator,
} from "./harness.ts";
import { checkChatStream } from "./invariants.ts";
import { mismatch } from "./match.ts";

interface StreamRule {
  readonly rule: string;
  readonly request?: JsonObject;
  readonly profile?: Profile;
  readonly events: readonly FixtureEvent[];
  readonly end?: End;
  readonly seen: JsonObject;
}

function event(type: string, fields: JsonObject = {}): FixtureEvent {
  return { event: type, data: { type, ...fields } };
}

const START = event("message_start", { message: { id: "msg_1", usage: { input_tokens: 3 } } });
const STOP = event("message_stop");
const PING = event("ping");

function ends(reason: string | null, more: JsonObject = {}): FixtureEvent {
  return event("message_delta", {
    delta: { stop_reason: reason, ...more },
    usage: { output_tokens: 2 },
  });
}

function block(index: number, content: JsonObject, ...deltas: JsonObject[]): FixtureEvent[] {
  return [
    event("content_block_start", { index, content_block: content }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ];
}

function json(text: string): JsonObject {
  return { type: "input_json_delta", partial_json: text };
}

function rules(all: readonly StreamRule[]): void {
  for (const { rule, request = { model: "m" }, profile = {}, events, end = "eof", seen } of all) {
    t.test(rule, async (t) => {
      const side = run("chat", request, profile, [serialise(events)], end).clientSide();
      checkChatStream(side.events, asksForUsage(request));
      t.equal(mismatch(assembleChat(side), seen), undefined);
    });
  }
}

const CALL = { type: "tool_use", id: "t", name: "f", input: {} };
const TEXT = { type: "text", text: "" };
const CUSTOM = { model: "m", tools: [{ type: "custom", custom: { name: "sh" } }] };

t.test("Chat streams: blocks", async () => {
  rules([
    {
      rule: "text in the start of its block, and text without a start",
      events: [
        START,
        ...block(0, { type: "text", text: "a" }, { type: "text_delta", text: "b" }),
        event("content_block_delta", { index: 7, delta: { type: "text_delta", text: "c" } }),
        ends("end_turn"),
        STOP,
      ],
      seen: {
        text: "abc",
        finish_reason: "stop",
        roles: 1,
        usage_keys: "none",
        usage: null,
        done: true,
      },
    },
    {
      rule: "thinking that is signed can be sent back",
      events: [
        START,
        ...block(
          0,
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "a" },
          { type: "thinking_delta", thinking: "b" },
          { type: "signature_delta", signature: "s" },
        ),
        ...block(1, { type: "redacted_thinking", data: "d" }),
        ends("end_turn"),
        STOP,
      ],
      seen: {
        text: "",
        reasoning: "ab",
        thinking_blocks: {
          $exact: [
            { type: "thinking", thinking: "ab", signature: "s" },
            { type: "redacted_thinking", data: "d" },
          ],
        },
      },
    },
    {
      rule: "tools that the provider ran itself are neither shown nor counted",
      events: [
        START,
        ...block(
          0,
          { type: "server_tool_use", id: "s", name: "web_search", input: {} },
          json('{"q":1}'),
        ),
        ...block(1, { type: "web_search_tool_result", content: [] }),
        ...block(2, CALL, json("{}")),
        ends("tool_use"),
        STOP,
      ],
      seen: { text: "", tool_calls: [{ id: "t", arguments: "{}" }], finish_reason: "tool_calls" },
    },
    {
      rule: "a tool without arguments",
      events: [START, ...block(0, CALL, json("")), ends("tool_use"), STOP],
      seen: { tool_calls: [{ arguments: "{}" }] },
    },
    {
      rule: "a block that is never closed",
      events: [
        START,
        event("content_block_start", { index: 0, content_block: { ...CALL, input: { x: 1 } } }),
        ends("tool_use"),
        STOP,
      ],
      seen: { tool_calls: [{ arguments: '{"x":1}' }] },
    },
    {
      rule: "a custom tool's text is sent in one piece",
      request: CUSTOM,
      events: [
        START,
        ...block(0, { ...CALL, name: "sh" }, json('{"in'), json('put":"ls\\n"}')),
        ends("tool_use"),
        STOP,
      ],
      seen: {
        tool_calls: [{ id: "t", type: "custom", name: "sh", arguments: "ls\n" }],
        data_chunks: 4,
      },
    },
    {
      rule: "a custom tool's text that was cut is passed on as it is",
      request: CUSTOM,
      events: [
        START,
        ...block(0, { ...CALL, name: "sh" }, json('{"input":"l')),
        ends("max_tokens"),
        STOP,
      ],
      seen: { tool_calls: [{ arguments: '{"input":"l' }], finish_reason: "length" },
    },
  ]);
});

t.test("Chat streams: how they end", async () => {
  const text = block(0, TEXT, { type: "text_delta", text: "x" });
  const truncated = {
    error: { error: { type: "server_error", code: "upstream_truncated", param: null } },
    done: false,
    finish_reason: null,
  };
  const wantsUsage = { model: "m", stream_options: { include_usage: true } };
  rules([
    { rule: "cleanly, but too early", events: [START, ...text], seen: truncated },
    {
      rule: "by a reset before the end",
      events: [START, ...text, ends("end_turn")],
      end: "reset",
      seen: truncated,
    },
    {
      rule: "by a reset after the end",
      events: [START, ...text, ends("end_turn"), STOP],
      end: "reset",
      seen: { done: true, error: null },
    },
    {
      rule: "without any event",
      events: [PING],
      seen: { http_error: { status: 502, body: { error: { code: "upstream_truncated" } } } },
    },
    {
      rule: "by the end of a message that never began",
      events: [STOP],
      seen: { http_error: { status: 502 } },
    },
    {
      rule: "by an overload",
      events: [START, event("error", { error: { type: "overloaded_error", message: "busy" } })],
      seen: {
        error: { error: { type: "server_error", code: "overloaded", message: "busy" } },
        done: false,
      },
    },
    {
      rule: "by an overload before any output",
      events: [event("error", { error: { type: "overloaded_error", message: "busy" } })],
      seen: { http_error: { status: 503 } },
    },
    {
      rule: "by an error without a type before any output",
      events: [event("error", {})],
      seen: { http_error: { status: 502, body: { error: { type: "server_error" } } } },
    },
    {
      rule: "a later delta without a reason keeps the earlier reason",
      events: [START, ...text, ends("max_tokens"), ends(null), STOP],
      seen: { finish_reason: "length" },
    },
    {
      rule: "a context too long for the model",
      events: [START, ends("model_context_window_exceeded"), STOP],
      seen: { finish_reason: "length" },
    },
    {
      rule: "a refusal without text",
      events: [START, ends("refusal"), STOP],
      seen: { refusal: "", finish_reason: "content_filter", data_chunks: 2 },
    },
    {
      rule: "a pause",
      events: [START, ...text, ends("pause_turn"), STOP],
      seen: { finish_reason: "stop" },
    },
    {
      rule: "events after the end are ignored",
      events: [START, ...text, ends("end_turn"), STOP, event("error", {}), ...text],
      seen: { text: "x", done: true, error: null },
    },
    {
      rule: "a stray [DONE] is ignored",
      events: [START, { data: "[DONE]" }, ...text, ends("end_turn"), STOP],
      seen: { text: "x", done: true },
    },
    {
      rule: "an unknown event that is no JSON is ignored",
      events: [START, { event: "metrics", data: "1ms" }, ends("end_turn"), STOP],
      seen: { done: true, error: null },
    },
    {
      rule: "a second start is ignored",
      events: [START, START, ends("end_turn"), STOP],
      seen: { roles: 1, data_chunks: 2 },
    },
    {
      rule: "no start at all",
      events: [...text, ends("end_turn"), STOP],
      seen: { first_delta: { role: "assistant" }, roles: 1, text: "x" },
    },
    {
      rule: "usage of the last event, not the sum",
      request: wantsUsage,
      events: [
        START,
        event("message_delta", {
          delta: { stop_reason: "end_turn" },
          usage: {
            input_tokens: 61,
            output_tokens: 9,
            output_tokens_details: { thinking_tokens: 4 },
          },
        }),
        STOP,
      ],
      seen: {
        usage: {
          $exact: {
            prompt_tokens: 61,
            completion_tokens: 9,
            total_tokens: 70,
            prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
            completion_tokens_details: { reasoning_tokens: 4 },
          },
        },
      },
    },
    {
      rule: "no usage chunk for a stream that broke",
      request: wantsUsage,
      events: [START, ...text],
      seen: { usage: null, usage_keys: "some", done: false },
    },
  ]);
});

t.test("Chat streams: what reaches the gateway", async (t) => {
  t.test(
    "only [DONE] is terminal, and a ping is a comment once the stream has begun",
    async (t) => {
      const recorder = new Recorder();
      const stream = translator("chat", { model: "m" }, {}, recorder);
      for (const { event: type, data } of [PING, START, PING, ends("end_turn"), STOP, PING]) {
        stream.event({ type, data: JSON.stringify(data) });
      }
      t.strictSame(
        recorder.written.map(({ mark }) => mark),
        ["event", "comment", "event", "terminal"],
      );
      t.equal(recorder.written[1]?.text, ": ping\n\n");
      t.equal(recorder.written[3]?.text, "data: [DONE]\n\n");
    },
  );
});
