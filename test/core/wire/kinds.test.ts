import t from "tap";
import type { Protocol } from "../../../core/catalogue/endpoint.ts";
import { type EventKind, ServerEvent, SseReader } from "../../../core/sse/reader.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { kindOf, type Wire } from "../../../core/wire/wire.ts";
import { wires } from "../../../core/wire/wires.ts";

const event = (text: string) => new ServerEvent(Buffer.from(text));
const STREAM = { id: "call", at: 0, model: "m", events: 0 };
const IMITATIONS = [
  "[DONE]",
  "data: [DONE]",
  '"type":"message_stop"',
  "event: message_stop\ndata: {}",
  '"type":"response.completed"',
  '"error":{"message":"x"}',
  "message_stop",
];

/** A delta of each protocol with this text as its content. */
const delta: Record<"messages" | "chat" | "responses", (text: string) => string> = {
  messages: (text) =>
    `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}\n\n`,
  chat: (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`,
  responses: (text) =>
    `event: response.output_text.delta\ndata: ${JSON.stringify({ type: "response.output_text.delta", delta: text })}\n\n`,
};

/** Azure's, if its filter is not there. */
const UNFILTERED = '"prompt_filter_results":[{"content_filter_results":{"error":{"code":"x"}}}]';

const KINDS: readonly [Protocol, string, EventKind][] = [
  ["messages", 'event: message_stop\ndata: {"type":"message_stop"}\n\n', "terminal"],
  ["messages", 'data: {"type":"message_stop"}\n\n', "terminal"],
  ["messages", 'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n', "terminal"],
  ["messages", 'event: message_delta\ndata: {"type":"message_delta"}\n\n', "data"],
  ["messages", 'event: message_start\ndata: {"message":{"usage":{"input_tokens":1}}}\n\n', "usage"],
  ["messages", 'event: message_delta\ndata: {"usage":{"output_tokens":1}}\n\n', "usage"],
  ["messages", 'data: {"type":"message_delta","usage": {"output_tokens":1}}\n\n', "usage"],
  ["messages", 'event: ping\ndata: {"type":"ping"}\n\n', "data"],
  ["messages", ": comment\n\n", "data"],
  ["messages", 'event: error\ndata: {"type":"error","error":{}}\n\n', "error"],
  ["chat", "data: [DONE]\n\n", "terminal"],
  ["chat", "data:[DONE]\r\n\r\n", "terminal"],
  ["chat", ": comment\n\n", "data"],
  ["chat", 'data: {"error":{"message":"x"}}\n\n', "error"],
  ["chat", 'data: {"error":"x"}\n\n', "error"],
  ["chat", 'data: {"choices":[],"error":null}\n\n', "data"],
  ["chat", 'data: {"choices":[],"error":""}\n\n', "data"],
  ["chat", 'data: {"choices":[{"delta":{"error":"x"}}]}\n\n', "data"],
  ["chat", 'data: {"choices":[{"delta":{"error":{}}}]}\n\n', "data"],
  ["responses", 'event: response.completed\ndata: {"type":"response.completed"}\n\n', "terminal"],
  ["responses", 'event: response.incomplete\ndata: {"type":"response.incomplete"}\n\n', "terminal"],
  ["responses", 'data: {"type":"response.completed"}\n\n', "terminal"],
  ["responses", 'event: response.failed\ndata: {"type":"response.failed"}\n\n', "error"],
  ["responses", 'event: error\ndata: {"type":"error"}\n\n', "error"],
  ["chat", 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n', "usage"],
  ["chat", 'data: {"choices":[],"usage":null}\n\n', "data"],
  ["chat", 'data: {"error":{"message":"x"},"usage":{"prompt_tokens":1}}\n\n', "error"],
  ["chat", 'data: {"choices":[{"delta":{"error":{}}}],"usage":{"prompt_tokens":1}}\n\n', "usage"],
  ["responses", 'event: response.created\ndata: {"type":"response.created"}\n\n', "data"],
  ["responses", 'event: response.in_progress\ndata: {"response":{"usage":null}}\n\n', "usage"],
  ["responses", 'event: response.output_item.done\ndata: {"response":{}}\n\n', "data"],
  ["images", 'data: {"type":"image_edit.completed","b64_json":"A"}\n\n', "terminal"],
  ["images", 'event: image_generation.completed\ndata: {"b64_json":"A"}\n\n', "terminal"],
  [
    "images",
    `data: {"type":"image_generation.partial_image","b64_json":"A",${UNFILTERED}}\n\n`,
    "data",
  ],
  [
    "images",
    `data: {"type":"image_generation.completed","b64_json":"A",${UNFILTERED}}\n\n`,
    "terminal",
  ],
  [
    "images",
    'data: {"type":"image_generation.completed","b64_json":"A","error":{"code":"x"}}\n\n',
    "terminal",
  ],
  ["images", 'data: {"type":"image_generation.completed","error":{"code":"x"}}\n\n', "error"],
  ["images", 'data: {"type":"image_generation.completed","error":null}\n\n', "terminal"],
  ["images", 'data: {"error":{"code":"x"}}\n\n', "error"],
  ["images", 'event: error\ndata: {"code":"x"}\n\n', "error"],
  ["speech", 'data: {"type":"speech.audio.done","usage":{"input_tokens":1}}\n\n', "terminal"],
  ["speech", 'data: {"type":"speech.audio.delta","audio":"AA"}\n\n', "data"],
  ["speech", "data: [DONE]\n\n", "terminal"],
];

t.test("the kind of an event", async (t) => {
  for (const [protocol, text, kind] of KINDS) {
    t.test(`is ${kind}: ${protocol} ${JSON.stringify(text)}`, async (t) => {
      t.equal(kindOf(event(text), wires[protocol]), kind);
    });
  }

  for (const protocol of ["messages", "chat", "responses"] as const) {
    t.test(`is data if content imitates an end or an error: ${protocol}`, async (t) => {
      for (const text of IMITATIONS) {
        t.equal(kindOf(event(delta[protocol](text)), wires[protocol]), "data", text);
      }
    });

    t.test(
      `is an error for the gateway's own error, which is one event, of Responses two: ${protocol}`,
      async (t) => {
        const refusal = refuse.upstreamFailed('it "broke"\n\ndata: [DONE]\n\n');
        const kinds: string[] = [];
        const reader = new SseReader();
        reader.push(Buffer.from(wires[protocol].errorEvent(refusal, STREAM)), (each) => {
          kinds.push(kindOf(each, wires[protocol]));
        });
        t.strictSame(kinds, protocol === "responses" ? ["error", "error"] : ["error"]);
      },
    );
  }

  t.test("is computed once and cached", async (t) => {
    let asked = 0;
    const counting: Wire = {
      ...wires.chat,
      classify(given) {
        asked++;
        return wires.chat.classify(given);
      },
    };
    const done = event("data: [DONE]\n\n");
    t.strictSame([kindOf(done, counting), kindOf(done, counting)], ["terminal", "terminal"]);
    t.equal(asked, 1);
    t.equal(kindOf(new ServerEvent(Buffer.from("data: x\n\n"), "usage"), counting), "usage");
    t.equal(asked, 1);
  });

  t.test("lets a stream end without a terminal event only after its stop reason", async (t) => {
    const stop = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
    t.equal(wires.chat.mayEndAt(event(stop)), true);
    // SGLang and Ollama send an empty reason, others its name.
    for (const none of ["null", '""', '"null"']) {
      const open = `data: {"choices":[{"delta":{"content":"x"},"finish_reason":${none}}]}\n\n`;
      t.equal(wires.chat.mayEndAt(event(open)), false, none);
    }
    const reason = 'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\n';
    t.equal(wires.messages.mayEndAt(event(reason)), true);
    t.equal(wires.messages.mayEndAt(event(reason.replace("end_turn", ""))), false);
    t.equal(wires.messages.mayEndAt(event(delta.messages("stop_reason"))), false);
    t.equal(wires.responses.mayEndAt(event(stop)), false);
  });
});
