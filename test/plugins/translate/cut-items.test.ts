import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { responsesToMessagesRequest } from "../../../plugins/translate/responses/read/request.ts";
import { messagesToResponse } from "../../../plugins/translate/responses/write/response.ts";
import { MessagesToResponsesStream } from "../../../plugins/translate/responses/write/stream.ts";
import { countingText, NOW_MS, Recorder } from "./harness.ts";

const tools = [
  { type: "function", name: "f", parameters: { type: "object" } },
  { type: "custom", name: "c" },
];
const asked = responsesToMessagesRequest({ model: "m", input: "q", tools }, {}, true);
if (!asked.ok) throw new Error(asked.reject.message);
const { context } = asked;

const call = (name: string) => ({ type: "tool_use", id: "t", name, input: {} });
const open = (content_block: object) => ({ type: "content_block_start", content_block });
const json = (partial_json: string) => ({ type: "content_block_delta", delta: { partial_json } });
const said = (text: string) => ({ type: "content_block_delta", delta: { text } });
const stop = { type: "content_block_stop" };
const ends = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];
const text = open({ type: "text", text: "" });

/** The items that a stream ends, as `TYPE STATUS`, and the status of the response. */
function streamed(events: readonly JsonObject[]): string[] {
  const client = new Recorder();
  const stream = new MessagesToResponsesStream(context, client, NOW_MS, countingText());
  stream.take({ type: "message_start", message: {} });
  for (const event of events) stream.take(event);
  stream.end("eof");
  const sent = client.clientSide().events.map(({ data }) => data as JsonObject);
  const done = sent.filter(({ type }) => type === "response.output_item.done");
  const items = done.map(({ item }) => item as JsonObject);
  const last = sent.at(-1)?.["response"] as JsonObject;
  t.strictSame(last["output"], items, "the response has the items that were done");
  return [...items.map(({ type, status }) => `${type} ${status}`), String(last["status"])];
}

t.test("an item that the limit of tokens has cut is incomplete", async (t) => {
  const cases: readonly (readonly [string, readonly JsonObject[], readonly string[]])[] = [
    [
      "a call",
      [open(call("f")), json('{"path":"/a'), stop, ...ends("max_tokens")],
      ["function_call incomplete", "incomplete"],
    ],
    [
      "a call without arguments yet",
      [open(call("f")), stop, ...ends("max_tokens")],
      ["function_call incomplete", "incomplete"],
    ],
    [
      "a call of a custom tool",
      [open(call("c")), json('{"input":"*** Begin'), stop, ...ends("max_tokens")],
      ["custom_tool_call incomplete", "incomplete"],
    ],
    [
      "a call that is whole, before one that is not",
      [open(call("f")), json("{}"), stop, open(call("f")), json("{"), ...ends("max_tokens")],
      ["function_call completed", "function_call incomplete", "incomplete"],
    ],
    [
      "a text",
      [text, said("a"), stop, ...ends("max_tokens")],
      ["message incomplete", "incomplete"],
    ],
    [
      "a text before a call",
      [text, said("a"), stop, open(call("f")), json("{"), stop, ...ends("max_tokens")],
      ["message completed", "function_call incomplete", "incomplete"],
    ],
    [
      "a call that is wrong, but ended by the model",
      [open(call("f")), json("{a"), stop, ...ends("tool_use")],
      ["function_call completed", "completed"],
    ],
    [
      "a call without arguments, ended by the model",
      [open(call("f")), stop, ...ends("tool_use")],
      ["function_call completed", "completed"],
    ],
    ["no call of a lost stream", [open(call("f")), json("{"), stop], ["failed"]],
    [
      "a text that was whole when the stream was lost",
      [text, said("a"), stop],
      ["message completed", "failed"],
    ],
    ["no text that the loss of the stream has cut", [text, said("a")], ["failed"]],
  ];
  for (const [what, events, expected] of cases) t.strictSame(streamed(events), expected, what);
});

t.test("a whole call is done at once", async (t) => {
  const client = new Recorder();
  const stream = new MessagesToResponsesStream(context, client, NOW_MS, countingText());
  stream.take({ type: "message_start", message: {} });
  for (const event of [open(call("f")), json('{"a":1}'), stop]) stream.take(event);
  t.match(client.text, /response\.output_item\.done/);
});

t.test("a reply that is not streamed says the same", async (t) => {
  const cut = { ...call("f"), input: { _raw_arguments: '{"a' } };
  const cases = [
    [
      [{ type: "text", text: "a" }, cut],
      "max_tokens",
      ["message completed", "function_call incomplete"],
    ],
    [
      [call("f"), { type: "text", text: "a" }],
      "max_tokens",
      ["function_call completed", "message incomplete"],
    ],
    [[cut], "tool_use", ["function_call completed"]],
  ] as const;
  for (const [content, stop_reason, expected] of cases) {
    const { body } = messagesToResponse({ content, stop_reason }, context, NOW_MS);
    const output = (body as JsonObject)["output"] as JsonObject[];
    t.strictSame(
      output.map(({ type, status }) => `${type} ${status}`),
      expected,
    );
  }
});
