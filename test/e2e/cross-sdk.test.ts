import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionMessageParam } from "openai/resources/index.js";
import t from "tap";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { echoIn } from "../support/echo.ts";
import "../support/patient-fetch.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, bodies, paths } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { makeState } from "../support/strict/state.ts";
import { until } from "../support/until.ts";

/** A model whose upstream speaks `/v1/chat/completions`. */
const CHAT_MODEL = "gpt-4.1-nano";
/** A model whose upstream speaks `/v1/messages`. */
const MESSAGES_MODEL = "claude-opus-5-5";

const WEATHER = { name: "weather", description: "The weather of a city." };
const CITY = { type: "object" as const, properties: { city: { type: "string" } } };
/** A reply with text and two calls of tools. */
const ASKED: Directive = {
  text: "Let me look.",
  tools: [
    { name: "weather", arguments: { city: "Huế", days: [1, [2]] }, id: "toolu_1" },
    { name: "clock", id: "toolu_2" },
  ],
};
/** The same as blocks of Messages, and as calls of Chat. */
const BLOCKS = [
  { type: "text", text: "Let me look." },
  { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Huế", days: [1, [2]] } },
  { type: "tool_use", id: "toolu_2", name: "clock", input: {} },
];
const CALLS = [
  {
    id: "toolu_1",
    type: "function",
    function: { name: "weather", arguments: '{"city":"Huế","days":[1,[2]]}' },
  },
  { id: "toolu_2", type: "function", function: { name: "clock", arguments: "{}" } },
];
/** The gateway's mark for the provider's cache. */
const MARK = { cache_control: { type: "ephemeral" } };
const SCHEMA = {
  type: "object",
  title: "the weather",
  properties: { city: { type: "string" }, celsius: { type: "number" } },
  required: ["city", "celsius"],
  additionalProperties: false,
} as const;
const JSON_TEXT = '{"city":"Huế","celsius":31}';
const PARSED = { city: "Huế", celsius: 31 };
/** A stream that stays silent after ten deltas of four characters. */
const DELIVERED = "abcd".repeat(10);
const silent = (after: number): Directive => ({
  text: `${DELIVERED}never`,
  input_tokens: 100,
  silent_ms: 600_000,
  silent_after_events: after,
});

/** The fields that the gateway adds to the types of OpenAI's SDK. */
interface Thoughts {
  readonly reasoning_content?: string;
  readonly thinking_blocks?: readonly object[];
}

t.test("Anthropic's client on a model of the Chat protocol", async (t) => {
  const gateway = await sharedGateway();
  const customer = await customerWith(gateway);
  const anthropic = clientOf(customer.key);
  function clientOf(apiKey: string): Anthropic {
    return new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
  }
  const message = (directive: Directive = {}, more: object = {}) =>
    bodies.messages(directive, { model: CHAT_MODEL, ...more });
  const aborted = async () => (await gateway.simulator.stats())[paths.chat]!["aborted"]!;

  t.test("costs its usage, under the name of the requested model", async (t) => {
    const customer = await customerWith(gateway);
    const { data, response } = await clientOf(customer.key)
      .messages.create(message({ text: "Xin chào 🌏", input_tokens: 10, output_tokens: 5 }))
      .withResponse();
    t.match(data.id, /^msg_/);
    t.match(data, { type: "message", role: "assistant", model: CHAT_MODEL });
    t.strictSame(data.content, [{ type: "text", text: "Xin chào 🌏" }]);
    t.equal(data.stop_reason, "end_turn");
    t.match(data.usage, { input_tokens: 10, output_tokens: 5 });
    // 15 tokens at 1,500 đ per million.
    t.equal(response.headers.get("x-svc-cost-vnd"), "0.0225");
    await assertBalance(gateway, customer, "99999.9775");
  });

  t.test("sends the results of tools back, in pairs for the upstream", async (t) => {
    const tools = [
      { ...WEATHER, input_schema: CITY },
      { name: "clock", input_schema: { type: "object" as const } },
    ];
    const more = { model: CHAT_MODEL, max_tokens: 4096, tools };
    const question = { role: "user" as const, content: asking(ASKED) };
    const first = await anthropic.messages.stream({ ...more, messages: [question] }).finalMessage();
    t.equal(first.stop_reason, "tool_use");
    t.strictSame(first.content, BLOCKS);
    const continued = (last: Directive): Anthropic.MessageParam[] => [
      question,
      { role: "assistant", content: first.content },
      {
        role: "user",
        content: [
          { type: "text", text: asking(last) },
          { type: "tool_result", tool_use_id: "toolu_1", content: "31 °C" },
          {
            type: "tool_result",
            tool_use_id: "toolu_2",
            is_error: true,
            content: [{ type: "text", text: "stopped" }],
          },
        ],
      },
    ];
    const hot = { ...more, messages: continued({ text: "It is hot." }) };
    t.equal(textOf(await anthropic.messages.create(hot)), "It is hot.");
    const echo = { ...more, messages: continued({ echo: true }) };
    const { body, path } = echoIn(textOf(await anthropic.messages.create(echo)));
    t.equal(path, paths.chat);
    t.strictSame(body.tools, [
      { type: "function", function: { ...WEATHER, parameters: CITY } },
      {
        type: "function",
        function: { name: "clock", parameters: { type: "object", properties: {} } },
      },
    ]);
    const [, assistant, ...results] = body.messages;
    t.equal(assistant.content, "Let me look.");
    t.strictSame(assistant.tool_calls, CALLS);
    t.strictSame(results, [
      { role: "tool", tool_call_id: "toolu_1", content: "31 °C" },
      { role: "tool", tool_call_id: "toolu_2", content: "Error: stopped" },
      { role: "user", content: asking({ echo: true }) },
    ]);
  });

  t.test("parses JSON by a schema", async (t) => {
    const output_config = { format: { type: "json_schema" as const, schema: SCHEMA } };
    const echo = await anthropic.messages.create(message({ echo: true }, { output_config }));
    t.strictSame(echoIn(textOf(echo)).body.response_format, {
      type: "json_schema",
      json_schema: { name: "the_weather", schema: SCHEMA, strict: true },
    });
    const body = message({ text: JSON_TEXT }, { output_config });
    t.strictSame((await anthropic.messages.parse(body)).parsed_output, PARSED);
  });

  t.test("sends no header of its protocol upstream, and the reply lists them", async (t) => {
    const { data, response } = await anthropic.messages
      .create(message({ echo: true }), { headers: { "anthropic-beta": "a-1,b-2" } })
      .withResponse();
    const { headers } = echoIn(textOf(data));
    const own = Object.keys(headers).filter((name) => /anthropic|beta|x-api-key/.test(name));
    t.strictSame(own, []);
    t.equal(headers["authorization"], "Bearer simulated");
    t.equal(response.headers.get("x-svc-translate-dropped"), "anthropic-beta");
  });

  t.test("cancels the upstream if it aborts, and pays for what was delivered", async (t) => {
    const customer = await customerWith(gateway);
    const before = await aborted();
    const stream = clientOf(customer.key).messages.stream(message(silent(11)));
    let text = "";
    await assert.rejects(async () => {
      for await (const event of stream) {
        if (event.type !== "content_block_delta" || event.delta.type !== "text_delta") continue;
        text += event.delta.text;
        if (text === DELIVERED) stream.abort();
      }
      await stream.done();
    }, Anthropic.APIUserAbortError);
    await until("the upstream is cancelled", async () => (await aborted()) === before + 1);
    // 40 characters at 4.2 bytes a token, rounded up.
    t.match(await billedCall(gateway, customer), {
      ...{ outcome: "gone", estimated: true, output_tokens: 10 },
    });
  });
});

t.test("OpenAI's client on a model of the Messages protocol", async (t) => {
  const gateway = await sharedGateway();
  const customer = await customerWith(gateway);
  const openai = clientOf(customer.key);
  function clientOf(apiKey: string): OpenAI {
    return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  }
  const chat = (directive: Directive = {}, more: object = {}) =>
    bodies.chat(directive, { model: MESSAGES_MODEL, ...more });
  const aborted = async () => (await gateway.simulator.stats())[paths.messages]!["aborted"]!;

  /** The upstream request that ends a conversation with these messages. */
  async function upstreamOf(more: object, messages: ChatCompletionMessageParam[] = []) {
    const prompt = { role: "user" as const, content: asking({ echo: true }) };
    const body = { model: MESSAGES_MODEL, ...more, messages: [...messages, prompt] };
    const echo = echoIn((await openai.chat.completions.create(body)).choices[0]?.message.content);
    assert.equal(echo.path, paths.messages);
    return echo.body;
  }

  t.test("costs its usage, under the name of the requested model", async (t) => {
    const customer = await customerWith(gateway);
    const { data, response } = await clientOf(customer.key)
      .chat.completions.create(chat({ text: "Xin chào 🌏", input_tokens: 10, output_tokens: 5 }))
      .withResponse();
    t.match(data.id, /^chatcmpl-msg_/);
    t.match(data, { object: "chat.completion", model: MESSAGES_MODEL });
    t.equal(data.choices.length, 1);
    t.match(data.choices[0], {
      message: { role: "assistant", content: "Xin chào 🌏" },
      finish_reason: "stop",
    });
    t.equal(data.usage?.total_tokens, 15);
    t.equal(response.headers.get("x-svc-cost-vnd"), "0.54");
    await assertBalance(gateway, customer, "99999.46");
  });

  t.test("sends the results of tools back, in pairs for the upstream", async (t) => {
    const tools = [
      { type: "function" as const, function: { ...WEATHER, parameters: CITY } },
      { type: "function" as const, function: { name: "clock" } },
    ];
    const question = { role: "user" as const, content: asking(ASKED) };
    const first = await openai.chat.completions
      .stream({ model: MESSAGES_MODEL, messages: [question], tools })
      .finalChatCompletion();
    t.equal(first.choices[0]?.finish_reason, "tool_calls");
    const called = first.choices[0]!.message;
    t.equal(called.content, "Let me look.");
    t.match(called.tool_calls, CALLS);
    const conversation: ChatCompletionMessageParam[] = [
      question,
      called,
      { role: "tool", tool_call_id: "toolu_1", content: "31 °C" },
      { role: "tool", tool_call_id: "toolu_2", content: "12:00" },
    ];
    const hot = { role: "user" as const, content: asking({ text: "It is hot." }) };
    const answer = await openai.chat.completions.create({
      ...{ model: MESSAGES_MODEL, tools, messages: [...conversation, hot] },
    });
    t.equal(answer.choices[0]?.message.content, "It is hot.");
    const body = await upstreamOf({ tools }, conversation);
    t.strictSame(body.tools, [
      { ...WEATHER, input_schema: CITY },
      { name: "clock", input_schema: { type: "object", properties: {} }, ...MARK },
    ]);
    t.strictSame(body.messages.slice(1), [
      { role: "assistant", content: BLOCKS },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "31 °C" },
          { type: "tool_result", tool_use_id: "toolu_2", content: "12:00" },
          { type: "text", text: asking({ echo: true }), ...MARK },
        ],
      },
    ]);
  });

  t.test("calls custom tools as custom", async (t) => {
    const tools = [{ type: "custom" as const, custom: { name: "sql" } }];
    const body = chat({ tools: [{ name: "sql", arguments: { input: "SELECT 1" } }] }, { tools });
    const [call] =
      (await openai.chat.completions.create(body)).choices[0]?.message.tool_calls ?? [];
    assert.ok(call?.type === "custom");
    t.strictSame(call.custom, { name: "sql", input: "SELECT 1" });
  });

  t.test("parses JSON by a schema", async (t) => {
    const response_format = {
      type: "json_schema" as const,
      json_schema: { name: "weather", strict: true, schema: SCHEMA },
    };
    const { output_config } = await upstreamOf({ response_format });
    t.strictSame(output_config, { format: { type: "json_schema", schema: SCHEMA } });
    const body = chat({ text: JSON_TEXT }, { response_format });
    const parsed = await openai.chat.completions.parse(body);
    t.strictSame(parsed.choices[0]?.message.parsed, PARSED);
  });

  t.test("sends no header of its protocol upstream, and the reply lists them", async (t) => {
    const { data, response } = await openai.chat.completions
      .create(chat({ echo: true }), { headers: { "openai-beta": "x=v1", "openai-project": "p" } })
      .withResponse();
    const { headers } = echoIn(data.choices[0]?.message.content);
    const own = Object.keys(headers).filter((name) => /openai|beta|authorization/.test(name));
    t.strictSame(own, []);
    t.match(headers, { "anthropic-version": "2023-06-01", "x-api-key": "simulated" });
    t.equal(response.headers.get("x-svc-translate-dropped"), "openai-beta");
  });

  t.test("sends reasoning back that it got beside the text, streamed or not", async (t) => {
    const signature = makeState("anthropic", "signature", "this reply");
    const data = makeState("anthropic", "redacted", "this reply");
    const body = chat(
      { thinking: "I think so.", signature, redacted_thinking: data, text: "Yes." },
      { reasoning_effort: "high" },
    );
    const blocks = [
      { type: "thinking", thinking: "I think so.", signature },
      { type: "redacted_thinking", data },
    ];
    const whole = await openai.chat.completions.create(body);
    const message: OpenAI.ChatCompletionMessage & Thoughts = whole.choices[0]!.message;
    t.equal(message.content, "Yes.");
    t.equal(message.reasoning_content, "I think so.");
    t.strictSame(message.thinking_blocks, blocks);

    let reasoning = "";
    let text = "";
    const streamed: object[] = [];
    for await (const { choices } of await openai.chat.completions.create({
      ...{ ...body, stream: true },
    })) {
      const delta: (ChatCompletionChunk.Choice.Delta & Thoughts) | undefined = choices[0]?.delta;
      reasoning += delta?.reasoning_content ?? "";
      text += delta?.content ?? "";
      streamed.push(...(delta?.thinking_blocks ?? []));
    }
    t.strictSame([reasoning, text], ["I think so.", "Yes."]);
    t.strictSame(streamed, blocks);

    const { messages } = await upstreamOf({}, [{ role: "user", content: "sure?" }, message]);
    t.strictSame(messages[1].content, [...blocks, { type: "text", text: "Yes." }]);
  });

  t.test("cancels the upstream if it aborts, and pays for what was delivered", async (t) => {
    const customer = await customerWith(gateway);
    const before = await aborted();
    const stream = await clientOf(customer.key).chat.completions.create({
      ...{ ...chat(silent(12)), stream: true },
    });
    let text = "";
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (text === DELIVERED) stream.controller.abort();
    }
    await until("the upstream is cancelled", async () => (await aborted()) === before + 1);
    // 40 characters at 4.2 bytes a token, rounded up.
    t.match(await billedCall(gateway, customer), {
      ...{ outcome: "gone", input_tokens: 100, output_tokens: 10, cost_vnd: "3.96" },
    });
  });
});

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
