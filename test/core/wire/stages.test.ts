import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { wires } from "../../../core/wire/wires.ts";

type Protocol = "messages" | "responses";

/** The stage of an event, with an `event:` line and without. */
function stageOf(protocol: Protocol, type: string, fields: object): string {
  const data = `data: ${JSON.stringify({ type, ...fields })}\n\n`;
  const texts = [`event: ${type}\n${data}`, data];
  const stages = texts.map((text) => wires[protocol].stage(new ServerEvent(Buffer.from(text))));
  return [...new Set(stages)].join(" or ");
}

const delta = (fields: object) => ({ index: 0, delta: fields });
const message = (...content: object[]) => ({ item: { type: "message", content } });
const text = (text: string) => ({ type: "output_text", text });
const refusal = (refusal: string) => ({ type: "refusal", refusal });

/** Events of which only those with content are charged. */
const EVENTS: readonly (readonly [Protocol, type: string, empty: object, full?: object])[] = [
  ["messages", "content_block_start", { content_block: { type: "text", text: "" } }],
  [
    "messages",
    "content_block_delta",
    delta({ type: "text_delta", text: "" }),
    delta({ type: "text_delta", text: 'a""' }),
  ],
  [
    "messages",
    "content_block_delta",
    delta({ type: "thinking_delta", thinking: "" }),
    delta({ type: "input_json_delta", partial_json: "{" }),
  ],
  ["messages", "content_block_stop", { index: 0 }],
  ["responses", "response.output_item.added", message(), message(text("a"))],
  ["responses", "response.content_part.added", { part: text("") }, { part: text("a") }],
  ["responses", "response.content_part.added", { part: refusal("") }, { part: refusal("a") }],
  ["responses", "response.output_text.delta", { delta: "" }, { delta: "a" }],
  ["responses", "response.output_text.done", { text: "" }, { text: "a" }],
  ["responses", "response.refusal.done", { refusal: "" }, { refusal: "a" }],
  ["responses", "response.content_part.done", { part: text("") }, { part: text("a") }],
  [
    "responses",
    "response.output_item.done",
    message(text(""), refusal("")),
    message(text(""), text("a")),
  ],
  [
    "responses",
    "response.output_item.done",
    message(text("")),
    { item: { type: "function_call", name: "f", arguments: "" } },
  ],
  ["responses", "response.completed", { response: { output: [message(text("")).item] } }],
];

t.test("an event delivers something only if it has content, also at a block's end", async (t) => {
  for (const [protocol, type, empty, full] of EVENTS) {
    t.equal(stageOf(protocol, type, empty), "begun", `${type} ${JSON.stringify(empty)}`);
    if (full)
      t.equal(stageOf(protocol, type, full), "delivered", `${type} ${JSON.stringify(full)}`);
  }
});

t.test("a filter before any character is free, whole or streamed", async (t) => {
  for (const [part, worth, stage] of [
    [text(""), "free", "refused"],
    [text("a"), "charged", "delivered"],
  ] as const) {
    const response: JsonObject = {
      ...{ status: "incomplete", output: [message(part).item] },
      incomplete_details: { reason: "content_filter" },
    };
    t.equal(wires.responses.judge(response), worth);
    t.equal(stageOf("responses", "response.incomplete", { response }), stage);
  }
});
