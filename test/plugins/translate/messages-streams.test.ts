import t, { type Test } from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import type { End } from "../../../plugins/translate/stream.ts";
import { assembleMessages } from "./assemble.ts";
import { type FixtureEvent, Recorder, run, serialise, translator } from "./harness.ts";
import { checkMessagesStream } from "./invariants.ts";
import { mismatch } from "./match.ts";

interface StreamRule {
  readonly rule: string;
  readonly deltas: readonly JsonObject[];
  /** Sent after the deltas, instead of a finish reason and [DONE]. */
  readonly tail?: readonly FixtureEvent[];
  readonly finish?: string;
  readonly end?: End;
  readonly seen: JsonObject;
}

const DONE: FixtureEvent = { data: "[DONE]" };

function chunk(delta: JsonObject, finish: string | null = null): FixtureEvent {
  return { data: { id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason: finish }] } };
}

function tool(
  index: number | undefined,
  id: string | undefined,
  name?: string,
  args?: unknown,
): JsonObject {
  return { tool_calls: [{ index, id, function: { name, arguments: args } }] };
}

function rules(t: Test, all: readonly StreamRule[]): void {
  for (const { rule, deltas, tail: given, finish = "stop", end = "eof", seen } of all) {
    t.test(rule, async (t) => {
      const tail = given ?? [chunk({}, finish), DONE];
      const bytes = serialise([...deltas.map((delta) => chunk(delta)), ...tail]);
      const side = run("messages", { model: "m" }, {}, [bytes], end).clientSide();
      checkMessagesStream(side.events);
      t.equal(mismatch(assembleMessages(side), seen), undefined);
    });
  }
}

const A = { type: "tool_use", id: "a", name: "f" };
const B = { type: "tool_use", id: "b", name: "g" };

t.test("Messages streams: which call a delta belongs to", async (t) => {
  rules(t, [
    {
      rule: "no indexes: an id begins a call, deltas without one belong to the latest",
      deltas: [
        tool(undefined, "a", "f", '{"x"'),
        tool(undefined, undefined, undefined, ":1}"),
        tool(undefined, "b", "g", "{"),
        tool(undefined, undefined, undefined, "}"),
      ],
      seen: {
        blocks: [
          { ...A, input_json: '{"x":1}' },
          { ...B, input_json: "{}" },
        ],
      },
    },
    {
      rule: "no indexes and no ids: each call comes whole",
      deltas: [tool(undefined, undefined, "f", { x: 1 }), tool(undefined, undefined, "g", {})],
      seen: {
        blocks: [
          { name: "f", input_json: '{"x":1}', id: { $regex: "^toolu_" } },
          { name: "g", input_json: "{}" },
        ],
        stop_reason: "tool_use",
      },
    },
    {
      rule: "index 0 for all, and ids with every delta, in turns",
      deltas: [
        tool(0, "a", "f", "{"),
        tool(0, "b", "g", "{"),
        tool(0, "a", "", "}"),
        tool(0, "b", "", "}"),
      ],
      seen: {
        blocks: [
          { ...A, input_json: "{}" },
          { ...B, input_json: "{}" },
        ],
      },
    },
    {
      rule: "name, id and arguments one after the other",
      deltas: [tool(0, undefined, "f"), tool(0, "a"), tool(0, undefined, undefined, "{}")],
      seen: { blocks: [{ ...A, input_json: "{}" }] },
    },
    {
      rule: "arguments begin a call that has no id",
      deltas: [tool(0, undefined, "f"), tool(0, undefined, undefined, "{}"), tool(0, "late")],
      seen: { blocks: [{ id: { $regex: "^toolu_[0-9A-Za-z]{24}$" }, input_json: "{}" }] },
    },
    {
      rule: "an odd id is encoded",
      deltas: [tool(0, "functions.f:0", "f", "{}")],
      seen: { blocks: [{ id: { $regex: "^tgw1_[0-9A-Za-z]{6}_ZnVuY3Rpb25zLmY6MA$" } }] },
    },
  ]);
});

t.test("Messages streams: order of blocks", async (t) => {
  rules(t, [
    {
      rule: "repeated whole arguments are ignored, in an open call and a closed one",
      deltas: [
        tool(0, "a", "f", '{"x":1}'),
        tool(0, "a", "f", '{"x":1}'),
        tool(1, "b", "g", "{}"),
        tool(0, "a", "f", '{"x":1}'),
      ],
      seen: {
        blocks: [
          { ...A, input_json: '{"x":1}' },
          { ...B, input_json: "{}" },
        ],
      },
    },
    {
      rule: "braces and quotes in strings do not end arguments",
      deltas: [
        tool(0, "a", "f", '{"x":"}\\"}'),
        { content: "t" },
        tool(0, "a", "f", "\\\\"),
        tool(0, "a", "f", '"}'),
      ],
      seen: {
        blocks: [
          { ...A, input_json: '{"x":"}\\"}\\\\"}' },
          { type: "text", text: "t" },
        ],
      },
    },
    {
      rule: "all kinds wait for an open call, in the order they came",
      deltas: [
        tool(0, "a", "f", '{"x":'),
        { content: "t1" },
        { content: "t2" },
        { reasoning: "r1" },
        { reasoning: "r2" },
        { thinking_blocks: [{ type: "redacted_thinking", data: "d" }] },
        tool(1, "b", "g", '{"y":2'),
        { content: "t3" },
        tool(0, undefined, undefined, "1}"),
        { content: "t4" },
        tool(1, undefined, undefined, "}"),
      ],
      seen: {
        blocks: [
          { ...A, input_json: '{"x":1}' },
          { type: "text", text: "t1t2" },
          { type: "thinking", thinking: "r1r2", signature: "" },
          { type: "redacted_thinking", data: "d" },
          { ...B, input_json: '{"y":2}' },
          { type: "text", text: "t3t4" },
        ],
      },
    },
    {
      rule: "white space after a call waits for text, even across thinking",
      deltas: [
        tool(0, "a", "f", "{}"),
        { content: "\n" },
        { content: " " },
        { reasoning: "r" },
        { content: "t" },
      ],
      seen: { blocks: [A, { thinking: "r" }, { type: "text", text: "\n t" }] },
    },
    {
      rule: "white space after text that follows a call is text",
      deltas: [tool(0, "a", "f", "{}"), { content: "t" }, { content: "\n" }],
      seen: { blocks: [A, { type: "text", text: "t\n" }] },
    },
    {
      rule: "white space between thinking and a call is no text: Claude refuses such a block",
      deltas: [{ reasoning: "r" }, { content: "\n" }, { content: "\n" }, tool(0, "a", "f", "{}")],
      seen: { blocks: [{ thinking: "r" }, A] },
    },
    {
      rule: "white space before text is part of it",
      deltas: [{ content: "\n" }, { content: "t" }],
      seen: { blocks: [{ type: "text", text: "\nt" }] },
    },
    {
      rule: "white space alone is no text",
      deltas: [{ reasoning: "r" }, { content: "\n" }],
      seen: { blocks: [{ thinking: "r" }] },
    },
    {
      rule: "each signature ends a block of thinking; a repeated one is ignored",
      deltas: [
        { thinking_blocks: [{ type: "thinking", thinking: "a", signature: "s1" }] },
        { thinking_blocks: [{ type: "thinking", thinking: "", signature: "s1" }] },
        { thinking_blocks: [{ type: "thinking", thinking: "b", signature: "s2" }] },
      ],
      seen: {
        blocks: [
          { type: "thinking", thinking: "a", signature: "s1" },
          { type: "thinking", thinking: "b", signature: "s2" },
        ],
      },
    },
    {
      rule: "a signature alone makes a block",
      deltas: [{ thinking_blocks: [{ type: "thinking", signature: "s" }] }, { content: "t" }],
      seen: { blocks: [{ type: "thinking", thinking: "", signature: "s" }, { text: "t" }] },
    },
    {
      rule: "reasoning under several names is sent once",
      deltas: [{ reasoning_content: "r", reasoning: "r", reasoning_details: [{ text: "r" }] }],
      seen: { blocks: [{ type: "thinking", thinking: "r" }] },
    },
  ]);
});

t.test("Messages streams: how they end", async (t) => {
  const text = [{ content: "t" }];
  const error = (type: string, message: unknown = { $any: true }) => ({
    error: { type: "error", error: { type, message } },
    stop_reason: null,
  });
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  rules(t, [
    {
      rule: "cleanly, but too early",
      deltas: text,
      tail: [],
      seen: error("api_error", "Upstream stream ended before completion"),
    },
    {
      rule: "by a reset after the finish reason",
      deltas: text,
      tail: [chunk({}, "stop")],
      end: "reset",
      seen: error("api_error"),
    },
    {
      rule: "by a reset after the very end",
      deltas: text,
      end: "reset",
      seen: { stop_reason: "end_turn", error: null },
    },
    { rule: "by [DONE] alone", deltas: text, tail: [DONE], seen: { stop_reason: "end_turn" } },
    {
      rule: "by [DONE] before any output",
      deltas: [],
      tail: [DONE],
      seen: { http_error: { status: 502, body: { error: { type: "api_error" } } } },
    },
    { rule: "without any event", deltas: [], tail: [], seen: { http_error: { status: 502 } } },
    {
      rule: "by an event called error",
      deltas: text,
      tail: [{ event: "error", data: { message: "x" } }],
      seen: error("api_error", "x"),
    },
    {
      rule: "by an event called error that is no JSON",
      deltas: text,
      tail: [{ event: "error", data: "boom" }],
      seen: error("api_error"),
    },
    {
      rule: "by an overload in words",
      deltas: text,
      tail: [{ data: { error: { message: "Overloaded, sorry" } } }],
      seen: error("overloaded_error"),
    },
    {
      rule: "by an overload before any output",
      deltas: [],
      tail: [{ data: { error: "Overloaded" } }],
      seen: { http_error: { status: 529 } },
    },
    { rule: "by an abort", deltas: text, finish: "abort", seen: error("api_error") },
    {
      rule: "by a failure with its own message",
      deltas: text,
      tail: [
        {
          data: {
            choices: [{ delta: {}, finish_reason: "error", error: { code: 429, message: "slow" } }],
          },
        },
      ],
      seen: error("rate_limit_error", "slow"),
    },
    {
      rule: "by a context too long",
      deltas: text,
      tail: [{ data: { error: { code: "context_length_exceeded", message: "no" } } }],
      seen: error("invalid_request_error", "prompt is too long: no"),
    },
    {
      rule: "an unknown event that is no JSON is ignored",
      deltas: text,
      tail: [{ event: "metrics", data: "42ms" }, chunk({}, "stop"), DONE],
      seen: { stop_reason: "end_turn", error: null },
    },
    {
      rule: "events after [DONE] are ignored",
      deltas: text,
      tail: [DONE, { data: "{" }, chunk({ content: "x" })],
      seen: { stop_reason: "end_turn", blocks: [{ text: "t" }] },
    },
    {
      rule: "other choices are ignored",
      deltas: [],
      tail: [
        {
          data: {
            choices: [
              { index: 1, delta: { content: "no" } },
              { index: 0, delta: { content: "yes" } },
            ],
          },
        },
        DONE,
      ],
      seen: { blocks: [{ text: "yes" }] },
    },
    {
      rule: "a stop sequence, with the finish or before it",
      deltas: text,
      tail: [
        { data: { choices: [{ delta: {}, finish_reason: "stop", stop_reason: "###" }] } },
        DONE,
      ],
      seen: { stop_reason: "stop_sequence", stop_sequence: "###" },
    },
    {
      rule: "a stop token is not reported as a stop sequence",
      deltas: text,
      tail: [
        { data: { choices: [{ delta: {}, finish_reason: "stop", stop_reason: 128_009 }] } },
        DONE,
      ],
      seen: { stop_reason: "end_turn", stop_sequence: null },
    },
    {
      rule: "a null usage is ignored",
      deltas: text,
      tail: [{ data: { choices: [], usage } }, { data: { choices: [], usage: null } }, DONE],
      seen: { usage: { input_tokens: 5, output_tokens: 2 } },
    },
    {
      rule: "missing usage is reported as zeros",
      deltas: text,
      seen: {
        usage: {
          $exact: {
            input_tokens: 0,
            output_tokens: 0,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0,
          },
        },
      },
    },
    {
      rule: "a call after a refusal is still to be run",
      deltas: [{ refusal: "no" }, tool(0, "a", "f", "{}")],
      seen: { stop_reason: "tool_use", stop_details: null },
    },
  ]);
});

t.test("Messages streams: no unnecessary delay", async (t) => {
  t.test("each piece is sent with the event that brought it", async (t) => {
    const recorder = new Recorder();
    const stream = translator("messages", { model: "m" }, {}, recorder);
    const send = (delta: JsonObject): string[] => {
      const before = recorder.written.length;
      stream.event({ type: undefined, data: JSON.stringify(chunk(delta).data) });
      return recorder.written.slice(before).map(({ text }) => text.split("\n")[0] ?? "");
    };
    const [start, delta, stop] = ["start", "delta", "stop"].map(
      (name) => `event: content_block_${name}`,
    );
    t.strictSame(send({ role: "assistant" }), ["event: message_start"]);
    t.strictSame(send({ reasoning: "r" }), [start, delta]);
    t.strictSame(send({ content: "t" }), [stop, start, delta]);
    t.strictSame(send(tool(0, "a", "f", "")), [stop, start]);
    t.strictSame(send(tool(0, undefined, undefined, "{")), [delta]);
    t.strictSame(send(tool(1, "b", "g", "{")), []);
    t.strictSame(send(tool(0, undefined, undefined, "}")), [delta, stop, start, delta]);
    t.strictSame(send(tool(1, undefined, undefined, '"x"')), [delta]);
  });

  t.test("the name of an empty finish reason hides neither the reason nor a cut", async (t) => {
    const streamed = (finish: readonly string[]) => {
      const recorder = new Recorder();
      const stream = translator("messages", { model: "m" }, {}, recorder);
      for (const reason of ["null", ...finish]) {
        const { data } = chunk({ content: "a" }, reason);
        stream.event({ type: undefined, data: JSON.stringify(data) });
      }
      stream.end("eof");
      return recorder.text;
    };
    t.match(streamed(["length"]), /"stop_reason":"max_tokens"[\s\S]*message_stop/);
    t.match(streamed([]), /event: error\n.*ended before completion/);
  });

  t.test("only the very last event is terminal", async (t) => {
    const recorder = new Recorder();
    const stream = translator("messages", { model: "m" }, {}, recorder);
    stream.event({ type: undefined, data: JSON.stringify(chunk({ content: "a" }).data) });
    stream.event({ type: undefined, data: "[DONE]" });
    stream.end("reset");
    t.strictSame(
      recorder.written.map(({ mark }) => mark),
      ["usage", "event", "event", "event", "usage", "terminal"],
    );
    t.match(recorder.written.at(-1)?.text ?? "", /^event: message_stop\n/);
  });
});
