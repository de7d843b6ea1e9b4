import t from "tap";
import { billedCall, billedCalls, customerWith } from "../../support/billed.ts";
import { startGateway } from "../../support/gateway.ts";
import { noCallsInFlight } from "../../support/proof.ts";
import type { Directive } from "../../support/provider/directive.ts";
import { bodies, openStream, paths, post } from "../../support/requests.ts";

type Client = "messages" | "chat" | "responses";

/** The part of a stream that a client has read when it leaves. The marker is in the last event. */
interface Part {
  readonly client: Client;
  readonly events: readonly object[];
  /** The least output that is charged. */
  readonly least: number;
}

const INPUT = 500_000;
const start = {
  type: "message_start",
  message: { usage: { input_tokens: INPUT, output_tokens: 1 } },
};
const block = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });
const blockDelta = (delta: object) => ({ type: "content_block_delta", index: 0, delta });
const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });
const TEXT = "words ".repeat(100);
const MARKER = "answer_yes";

const PARTS: Readonly<Record<string, Part>> = {
  "the name of a tool, Messages": {
    client: "messages",
    events: [start, block({ type: "tool_use", id: "1", name: MARKER, input: {} })],
    least: 2,
  },
  "a result of a tool of the provider": {
    client: "messages",
    events: [start, block({ type: "web_search_tool_result", content: [{ title: MARKER }] })],
    least: 0,
  },
  "a summary of a compaction": {
    client: "messages",
    events: [
      start,
      block({ type: "compaction", content: null }),
      blockDelta({ type: "compaction_delta", content: TEXT }),
      blockDelta({ type: "compaction_delta", content: MARKER }),
    ],
    least: 100,
  },
  "a citation": {
    client: "messages",
    events: [
      start,
      block({ type: "text", text: "" }),
      blockDelta({ type: "citations_delta", citation: { cited_text: MARKER } }),
    ],
    least: 0,
  },
  "the name of a tool, Chat": {
    client: "chat",
    events: [
      chunk({ tool_calls: [{ index: 0, id: "1", function: { name: MARKER, arguments: "" } }] }),
    ],
    least: 2,
  },
  "thinking in parts": {
    client: "chat",
    events: [
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: TEXT }] }] }),
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: MARKER }] }] }),
    ],
    least: 100,
  },
  "text in parts": {
    client: "chat",
    events: [chunk({ content: [{ type: "text", text: TEXT + MARKER }] })],
    least: 100,
  },
  "details of reasoning": {
    client: "chat",
    events: [chunk({ reasoning_details: [{ type: "reasoning.text", text: TEXT + MARKER }] })],
    least: 100,
  },
  audio: {
    client: "chat",
    events: [chunk({ audio: { id: MARKER, data: "A".repeat(8_000) } })],
    least: 100,
  },
  images: {
    client: "chat",
    events: [chunk({ images: [{ type: "image_url", image_url: { url: `data:${MARKER}` } }] })],
    least: 1_000,
  },
  "the name of a tool, Responses": {
    client: "responses",
    events: [
      { type: "response.created", response: { status: "in_progress" } },
      {
        type: "response.output_item.added",
        item: { type: "function_call", name: MARKER, arguments: "" },
      },
    ],
    least: 2,
  },
  "a whole picture": {
    client: "responses",
    events: [
      { type: "response.created", response: { status: "in_progress" } },
      { type: "response.image_generation_call.partial_image", partial_image_b64: MARKER },
    ],
    least: 1_000,
  },
};

const DONE = "data: [DONE]\n\n";
const finish = chunk({}, { finish_reason: "stop" });
const PRICES = { messages: 36_000, chat: 1_500, responses: 1_500 } as const;

t.test("what is delivered", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  t.test("what a client has read when it leaves", async (t) => {
    for (const [what, { client, events, least }] of Object.entries(PARTS)) {
      t.test(`is charged: ${what}`, async (t) => {
        const customer = await customerWith(gateway);
        const directive = { reply: [...events, { type: "ping" }], silent_ms: 600_000 };
        const silent = { ...directive, silent_after_events: events.length };
        const body = bodies[client](silent, { stream: true });
        const open = await openStream(gateway, paths[client], customer, body);
        await open.until((text) => text.includes(MARKER));
        open.leave();
        await noCallsInFlight(gateway);
        const record = await billedCall(gateway, customer);
        const [input, output] = [Number(record["input_tokens"]), Number(record["output_tokens"])];
        if (client === "messages") t.equal(input, INPUT);
        t.ok(input > 0 && output >= least, `${input} + ${output}`);
        t.equal(Number(record["cost_vnd"]), ((input + output) * PRICES[client]) / 1_000_000);
        t.strictSame([record["outcome"], record["estimated"]], ["gone", true]);
      });
    }
  });

  t.test("an estimate", async (t) => {
    t.test("counts each delta, and nothing beside it", async (t) => {
      const long = "found in the web ".repeat(200);
      const noise: readonly object[] = [
        chunk({ content: "Good day.", annotations: [{ url_citation: { content: long } }] }),
        chunk({ content: "Good day.", executed_tools: [{ output: long, arguments: long }] }),
        chunk({ content: "Good day." }, { message: { content: long, reasoning: long } }),
        { ...chunk({ content: "Good day." }), search_results: [{ content: long, text: long }] },
        chunk({ reasoning: "Good day.", reasoning_details: [{ text: "Good day." }] }),
      ];
      const customer = await customerWith(gateway);
      for (const event of noise) {
        const body = bodies.chat({ reply: [event, finish, DONE] }, { stream: true });
        t.equal((await post(gateway, paths.chat, customer, body)).status, 200);
      }
      for (const record of await billedCalls(gateway, customer, noise.length)) {
        t.strictSame([record["output_tokens"], record["estimated"]], [3, true]);
      }
    });

    t.test("counts the parts of a whole reply too", async (t) => {
      const messages: readonly object[] = [
        { content: [{ type: "text", text: TEXT }] },
        { content: [{ type: "thinking", thinking: [{ type: "text", text: TEXT }] }] },
        { content: "", reasoning: TEXT },
        { content: null, tool_calls: [{ function: { name: TEXT, arguments: "" } }] },
      ];
      const customer = await customerWith(gateway);
      for (const message of messages) {
        const body = bodies.chat({ reply: { choices: [{ message }] } });
        t.equal((await post(gateway, paths.chat, customer, body)).status, 200);
      }
      for (const record of await billedCalls(gateway, customer, messages.length)) {
        t.equal(record["output_tokens"], Math.ceil(TEXT.length / 4.2));
      }
    });

    t.test(
      "takes the place of a reported zero, if more than a few words were delivered",
      async (t) => {
        const zero = { prompt_tokens: 40, completion_tokens: 0, total_tokens: 40 };
        for (const [stream, place] of [
          [false, "usage"],
          [true, "last"],
        ] as const) {
          const customer = await customerWith(gateway);
          const body = bodies.chat({ text: TEXT, reports: [[place, zero]] }, { stream });
          t.equal((await post(gateway, paths.chat, customer, body)).status, 200);
          const record = await billedCall(gateway, customer);
          const output = Math.ceil(TEXT.length / 4.2);
          t.strictSame([record["input_tokens"], record["output_tokens"]], [40, output]);
          t.equal(record["estimated"], true);
        }
      },
    );

    t.test("goes on after an early report, if the stream breaks off", async (t) => {
      const customer = await customerWith(gateway);
      const early = {
        ...chunk({ role: "assistant" }),
        usage: { prompt_tokens: 50, completion_tokens: 0 },
      };
      const text = chunk({ content: "x".repeat(2_000) });
      const directive = { reply: [early, text, finish], cut_after_events: 2 };
      await post(gateway, paths.chat, customer, bodies.chat(directive, { stream: true }));
      const record = await billedCall(gateway, customer);
      t.strictSame([record["input_tokens"], record["output_tokens"]], [50, 477]);
      t.equal(record["estimated"], true);
    });
  });

  t.test("a stream without a reply", async (t) => {
    t.test("is a 502 and costs nothing: a lone end, or usage alone", async (t) => {
      const usage = { choices: [], usage: { prompt_tokens: 300, completion_tokens: 0 } };
      for (const events of [[DONE], [usage, DONE]]) {
        const customer = await customerWith(gateway);
        const body = bodies.chat({ reply: events }, { stream: true });
        const { status } = await post(gateway, paths.chat, customer, body);
        t.equal(status, 502);
        t.equal((await billedCall(gateway, customer))["cost_vnd"], "0");
      }
    });

    t.test("costs nothing if it only refuses", async (t) => {
      const customer = await customerWith(gateway);
      const filtered = {
        type: "response.incomplete",
        response: { output: [], incomplete_details: { reason: "content_filter" } },
      };
      const refusals: [Client, Directive][] = [
        ["messages", { text: "", stop: "refusal", input_tokens: 1_800 }],
        ["chat", { text: "", stop: "content_filter", input_tokens: 1_800 }],
        ["responses", { reply: [filtered] }],
      ];
      for (const [client, directive] of refusals) {
        const body = bodies[client](directive, { stream: true });
        t.equal((await post(gateway, paths[client], customer, body)).status, 200);
      }
      for (const record of await billedCalls(gateway, customer, 3)) {
        t.equal(record["cost_vnd"], "0", String(record["endpoint"]));
      }
    });
  });
});
