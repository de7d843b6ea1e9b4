import assert from "node:assert/strict";
import OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionMessageParam } from "openai/resources/index.js";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import type { Customer } from "../support/admin.ts";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { type Echo, echoIn } from "../support/echo.ts";
import type { TestGateway } from "../support/gateway.ts";
import "../support/patient-fetch.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, bodies, paths } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { makeState } from "../support/strict/state.ts";
import { until } from "../support/until.ts";

/** The upstream speaks `/v1/messages`; the clients in this file only speak Chat Completions. */
const MODEL = "claude-opus-5-5";
/** A model that can be made to call a tool. */
const FORCIBLE_MODEL = "claude-opus-5";
/** A model whose thinking is requested by a budget in tokens. */
const BUDGET_MODEL = "claude-haiku-4-5";

const WEATHER = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    },
  },
} as const;
const CLOCK = { type: "function", function: { name: "clock" } } as const;
/** The gateway's mark for the provider's cache. */
const MARK = { cache_control: { type: "ephemeral" } };
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, celsius: { type: "number" } },
  required: ["city", "celsius"],
  additionalProperties: false,
} as const;

/** The fields that the gateway adds to the SDK's types. */
interface Thoughts {
  readonly reasoning_content?: string;
  readonly thinking_blocks?: readonly object[];
}

t.test("OpenAI's client on a model of the Messages protocol", async (t) => {
  let gateway: TestGateway;
  let openai: OpenAI;
  t.before(async () => {
    gateway = await sharedGateway();
    openai = clientOf((await customerWith(gateway)).key);
  });

  const clientOf = (apiKey: string, more: object = {}) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...more });
  async function fresh(): Promise<{ openai: OpenAI; customer: Customer }> {
    const customer = await customerWith(gateway);
    return { openai: clientOf(customer.key), customer };
  }
  const tally = async () => (await gateway.simulator.stats())[paths.messages]!;
  const chat = (directive: Directive = {}, more: object = {}) =>
    bodies.chat(directive, { model: MODEL, ...more });

  /** The upstream request for an ordinary prompt. */
  async function upstreamOf(more: object, messages: ChatCompletionMessageParam[] = []) {
    const prompt = { role: "user" as const, content: asking({ echo: true }) };
    const { data, response } = await openai.chat.completions
      .create({ model: MODEL, ...more, messages: [...messages, prompt] })
      .withResponse();
    const echo: Echo = echoIn(data.choices[0]?.message.content);
    assert.equal(echo.path, paths.messages);
    return { ...echo, dropped: response.headers.get("x-svc-translate-dropped") };
  }

  /** The same request, unstreamed and with the streaming helper. */
  async function both(body: ReturnType<typeof chat>) {
    const whole = await openai.chat.completions.create(body);
    const streamed = await openai.chat.completions.stream(body).finalChatCompletion();
    return [whole, streamed] as const;
  }

  t.test("text", async (t) => {
    t.test("has the name of the requested model, and costs its usage, unstreamed", async (t) => {
      const { openai, customer } = await fresh();
      const { data, response } = await openai.chat.completions
        .create(chat({ text: "Xin chào 🌏", input_tokens: 10, output_tokens: 5 }))
        .withResponse();
      t.equal(data.object, "chat.completion");
      t.match(data.id, /^chatcmpl-msg_/);
      t.equal(data.model, MODEL);
      t.equal(data.choices.length, 1);
      t.equal(data.choices[0]?.message.role, "assistant");
      t.equal(data.choices[0]?.message.content, "Xin chào 🌏");
      t.equal(data.choices[0]?.finish_reason, "stop");
      t.equal(data.usage?.total_tokens, 15);
      t.equal(response.headers.get("x-svc-cost-vnd"), "0.54");
      await assertBalance(gateway, customer, "99999.46");
    });

    t.test("streams: one id, one role, usage only if requested, and costs the same", async (t) => {
      const { openai, customer } = await fresh();
      const body = chat({ text: "one two three", input_tokens: 10, output_tokens: 5 });
      const chunks: ChatCompletionChunk[] = [];
      for await (const chunk of await openai.chat.completions.create({ ...body, stream: true })) {
        chunks.push(chunk);
      }
      t.equal(new Set(chunks.map(({ id }) => id)).size, 1);
      t.strictSame([...new Set(chunks.map(({ model }) => model))], [MODEL]);
      t.equal(chunks.filter(({ choices }) => choices[0]?.delta.role).length, 1);
      t.ok(chunks.every((chunk) => chunk.choices.length === 1 && !("usage" in chunk)));
      t.equal(
        chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
        "one two three",
      );
      t.equal(chunks.at(-1)?.choices[0]?.finish_reason, "stop");
      await assertBalance(gateway, customer, "99999.46");
    });

    t.test("is cut at the client's limit, with the matching finish reason", async (t) => {
      const body = chat({ output_tokens: 100 }, { max_completion_tokens: 7 });
      for (const { choices, usage } of await both(body)) {
        t.equal(choices[0]?.finish_reason, "length");
        if (usage) t.equal(usage.completion_tokens, 7);
      }
    });

    t.test("that stops at a stop sequence ends like any other", async (t) => {
      const [whole, streamed] = await both(chat({ text: "one END two" }, { stop: "END" }));
      for (const { choices } of [whole, streamed]) {
        t.equal(choices[0]?.message.content, "one ");
        t.equal(choices[0]?.finish_reason, "stop");
      }
    });

    t.test("of a refusal is content-filtered, with the provider's explanation", async (t) => {
      const body = chat({ refusal: "I cannot help with that." });
      for (const { choices } of await both(body)) {
        t.equal(choices[0]?.finish_reason, "content_filter");
        t.equal(choices[0]?.message.refusal, "I cannot help with that.");
      }
    });

    t.test("has the id of the model that served it, not the alias that was sent", async (t) => {
      const body = { ...chat({ text: "ok" }), model: "opus" };
      for (const answer of await both(body)) t.equal(answer.model, MODEL);
      const { body: sent } = await upstreamOf({ model: "opus" });
      t.equal(sent.model, MODEL);
    });
  });

  t.test("tools", async (t) => {
    const asked: Directive = {
      text: "Let me look.",
      tools: [
        { name: "weather", arguments: { city: "Huế", days: [1, [2]] }, id: "toolu_1" },
        { name: "clock", id: "toolu_2" },
      ],
    };

    t.test("are called in parallel, unstreamed and streamed, byte for byte", async (t) => {
      for (const { choices } of await both(chat(asked, { tools: [WEATHER, CLOCK] }))) {
        assert.equal(choices[0]?.finish_reason, "tool_calls");
        t.equal(choices[0].message.content, "Let me look.");
        t.strictSame(
          choices[0].message.tool_calls?.map((call) =>
            call.type === "function"
              ? [call.id, call.function.name, call.function.arguments]
              : call.type,
          ),
          [
            ["toolu_1", "weather", '{"city":"Huế","days":[1,[2]]}'],
            ["toolu_2", "clock", "{}"],
          ],
        );
      }
    });

    t.test(
      "get their results back in a full loop, and the upstream receives matching pairs",
      async (t) => {
        const question = { role: "user" as const, content: asking(asked) };
        const first = await openai.chat.completions
          .stream({ model: MODEL, messages: [question], tools: [WEATHER, CLOCK] })
          .finalChatCompletion();
        const conversation: ChatCompletionMessageParam[] = [
          question,
          first.choices[0]!.message,
          { role: "tool", tool_call_id: "toolu_1", content: "31 °C" },
          { role: "tool", tool_call_id: "toolu_2", content: "12:00" },
        ];
        const answer = await openai.chat.completions.create({
          model: MODEL,
          tools: [WEATHER, CLOCK],
          messages: [...conversation, { role: "user", content: asking({ text: "It is hot." }) }],
        });
        t.equal(answer.choices[0]?.message.content, "It is hot.");
        const { body } = await upstreamOf({ tools: [WEATHER, CLOCK] }, conversation);
        t.strictSame(body.tools, [
          {
            name: "weather",
            description: "The weather of a city.",
            input_schema: WEATHER.function.parameters,
          },
          { name: "clock", input_schema: { type: "object", properties: {} }, ...MARK },
        ]);
        t.strictSame(body.messages.slice(1), [
          {
            role: "assistant",
            content: [
              { type: "text", text: "Let me look." },
              {
                type: "tool_use",
                id: "toolu_1",
                name: "weather",
                input: { city: "Huế", days: [1, [2]] },
              },
              { type: "tool_use", id: "toolu_2", name: "clock", input: {} },
            ],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "toolu_1", content: "31 °C" },
              { type: "tool_result", tool_use_id: "toolu_2", content: "12:00" },
              { type: "text", text: asking({ echo: true }), ...MARK },
            ],
          },
        ]);
      },
    );

    t.test("keep names for the client that the upstream would refuse", async (t) => {
      const name = "files.read/all";
      const tools = [{ type: "function" as const, function: { name } }];
      const { body } = await upstreamOf({
        model: FORCIBLE_MODEL,
        tools,
        tool_choice: { type: "function", function: { name } },
      });
      const sent: string = body.tools[0].name;
      t.match(sent, /^[a-zA-Z0-9_-]{1,128}$/);
      t.strictSame(body.tool_choice, { type: "tool", name: sent });
      const called = chat({ tools: [{ name: sent, arguments: { a: 1 } }] }, { tools });
      for (const { choices } of await both(called)) {
        const [call] = choices[0]?.message.tool_calls ?? [];
        assert.ok(call?.type === "function");
        t.equal(call.function.name, name);
      }
    });

    t.test("are chosen, forced, forbidden and serialised in the upstream's terms", async (t) => {
      const tools = [WEATHER];
      for (const [choice, sent] of [
        ["auto", { type: "auto" }],
        ["required", { type: "any" }],
        ["none", { type: "none" }],
        [
          { type: "function", function: { name: "weather" } },
          { type: "tool", name: "weather" },
        ],
      ] as const) {
        const { body } = await upstreamOf({ model: FORCIBLE_MODEL, tools, tool_choice: choice });
        t.strictSame(body.tool_choice, sent);
      }
      const { body } = await upstreamOf({ tools, parallel_tool_calls: false });
      t.strictSame(body.tool_choice, { type: "auto", disable_parallel_tool_use: true });
    });

    t.test("declared as custom are called as custom", async (t) => {
      const tools = [{ type: "custom" as const, custom: { name: "sql" } }];
      const body = chat({ tools: [{ name: "sql", arguments: { input: "SELECT 1" } }] }, { tools });
      const whole = await openai.chat.completions.create(body);
      const [call] = whole.choices[0]?.message.tool_calls ?? [];
      assert.ok(call?.type === "custom");
      t.strictSame(call.custom, { name: "sql", input: "SELECT 1" });
    });
  });

  t.test("the upstream request", async (t) => {
    t.test("contains images, inline and by address", async (t) => {
      const data = makePng(4, 4, 0xff0000).toString("base64");
      const { body } = await upstreamOf({}, [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
            { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "high" } },
            { type: "text", text: "colours?" },
          ],
        },
      ]);
      t.strictSame(body.messages[0].content.slice(0, 3), [
        { type: "image", source: { type: "base64", media_type: "image/png", data } },
        { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        { type: "text", text: "colours?" },
      ]);
    });

    t.test("has system and developer prompts at the upstream's places, in order", async (t) => {
      const { body } = await upstreamOf({}, [
        { role: "system", content: "One." },
        { role: "developer", content: [{ type: "text", text: "Two." }] },
        { role: "user", content: "hello" },
        { role: "assistant", content: "hi" },
        { role: "system", content: "Three." },
      ]);
      t.strictSame(body.system, [
        { type: "text", text: "One." },
        { type: "text", text: "Two." },
        { type: "text", text: "Three.", ...MARK },
      ]);
      t.strictSame(
        body.messages.map(({ role }: { role: string }) => role),
        ["user", "assistant", "user"],
      );
    });

    t.test("requests JSON by a schema", async (t) => {
      const response_format = {
        type: "json_schema" as const,
        json_schema: { name: "weather", strict: true, schema: SCHEMA },
      };
      const { body } = await upstreamOf({ response_format });
      t.strictSame(body.output_config, { format: { type: "json_schema", schema: SCHEMA } });
      const text = '{"city":"Huế","celsius":31}';
      const parsed = await openai.chat.completions.parse(chat({ text }, { response_format }));
      t.strictSame(parsed.choices[0]?.message.parsed, { city: "Huế", celsius: 31 });
    });

    t.test("has the model's own output limit if the client sets none", async (t) => {
      t.equal((await upstreamOf({})).body.max_tokens, 128_000);
      t.equal((await upstreamOf({ max_tokens: 50 })).body.max_tokens, 50);
      const both = { max_tokens: 50, max_completion_tokens: 60 };
      t.equal((await upstreamOf(both)).body.max_tokens, 60);
    });

    t.test("leaves out unsupported hints, which the reply lists", async (t) => {
      const { body, dropped } = await upstreamOf({
        seed: 1,
        logit_bias: {},
        temperature: 0.5,
        user: "u-1",
      });
      t.strictSame(dropped?.split(",").sort(), ["logit_bias", "seed", "temperature"]);
      t.strictSame(Object.keys(body).sort(), ["max_tokens", "messages", "metadata", "model"]);
      t.match(body.metadata, { user_id: /^[0-9a-f]{64}$/ }, "names the account");
      t.equal((await upstreamOf({})).dropped, null);
    });

    t.test("has no header of the client's protocol, and the reply lists them", async (t) => {
      const { data, response } = await openai.chat.completions
        .create(chat({ echo: true }), { headers: { "openai-beta": "x=v1", "openai-project": "p" } })
        .withResponse();
      const { headers } = echoIn(data.choices[0]?.message.content);
      t.strictSame(
        Object.keys(headers).filter((name) => /openai|beta|authorization/.test(name)),
        [],
      );
      t.equal(headers["anthropic-version"], "2023-06-01");
      t.equal(headers["x-api-key"], "simulated");
      t.equal(response.headers.get("x-svc-translate-dropped"), "openai-beta");
    });

    t.test("keeps known betas on a call in the model's own protocol", async (t) => {
      const { data } = await openai.chat.completions
        .create(bodies.chat({ echo: true }), {
          headers: { "openai-beta": "responses=experimental" },
        })
        .withResponse();
      t.equal(
        echoIn(data.choices[0]?.message.content).headers["openai-beta"],
        "responses=experimental",
      );
    });
  });

  t.test("reasoning", async (t) => {
    t.test("is requested by effort, or by a budget if the model needs one", async (t) => {
      const adaptive = (await upstreamOf({ reasoning_effort: "high" })).body;
      t.strictSame(adaptive.thinking, { type: "adaptive", display: "summarized" });
      t.strictSame(adaptive.output_config, { effort: "high" });
      const budget = (await upstreamOf({ model: BUDGET_MODEL, reasoning_effort: "low" })).body;
      t.strictSame(budget.thinking, { type: "enabled", budget_tokens: 2048 });
    });

    t.test(
      "is separate from the text, unstreamed and streamed, and can be sent back",
      async (t) => {
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
          ...body,
          stream: true,
        })) {
          const delta: (ChatCompletionChunk.Choice.Delta & Thoughts) | undefined =
            choices[0]?.delta;
          reasoning += delta?.reasoning_content ?? "";
          text += delta?.content ?? "";
          streamed.push(...(delta?.thinking_blocks ?? []));
        }
        t.strictSame([reasoning, text], ["I think so.", "Yes."]);
        t.strictSame(streamed, blocks);

        const { body: sent } = await upstreamOf({}, [{ role: "user", content: "sure?" }, message]);
        t.strictSame(sent.messages[1].content, [...blocks, { type: "text", text: "Yes." }]);
      },
    );

    t.test("and the cache are counted in the client's protocol", async (t) => {
      const body = chat({
        text: "ok",
        input_tokens: 1000,
        cache_read_tokens: 600,
        cache_write_tokens: 300,
        output_tokens: 50,
        reasoning_tokens: 40,
      });
      const expected = {
        prompt_tokens: 1000,
        completion_tokens: 50,
        total_tokens: 1050,
        prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
        completion_tokens_details: { reasoning_tokens: 40 },
      };
      t.strictSame((await openai.chat.completions.create(body)).usage, expected);
      const stream = openai.chat.completions.stream({
        ...body,
        stream_options: { include_usage: true },
      });
      t.strictSame((await stream.finalChatCompletion()).usage, expected);
    });
  });

  t.test("a stream", async (t) => {
    t.test(
      "that the client aborts is cancelled upstream, and costs what was delivered",
      async (t) => {
        const { openai, customer } = await fresh();
        const before = await tally();
        const delivered = "abcd".repeat(10);
        const stream = await openai.chat.completions.create({
          ...chat({
            text: `${delivered}never`,
            input_tokens: 100,
            silent_ms: 600_000,
            silent_after_events: 12,
          }),
          stream: true,
        });
        let text = "";
        for await (const chunk of stream) {
          text += chunk.choices[0]?.delta.content ?? "";
          if (text === delivered) stream.controller.abort();
        }
        await until("the upstream is cancelled", async () => {
          return (await tally())["aborted"] === before["aborted"]! + 1;
        });
        const record = await billedCall(gateway, customer);
        t.equal(record["outcome"], "gone");
        t.equal(record["input_tokens"], 100);
        // 40 characters at 4.2 bytes a token, rounded up.
        t.equal(record["output_tokens"], 10);
        t.equal(record["cost_vnd"], "3.96");
      },
    );

    t.test(
      "that the upstream breaks off ends with an error, and never looks complete",
      async (t) => {
        for (const fault of [
          { cut_after_events: 6 },
          { end_after_events: 6 },
          { error_after_events: 6 },
        ] as const) {
          const stream = await openai.chat.completions.create({
            ...chat({ text: "one two three four five six", ...fault }),
            stream: true,
          });
          const finished: unknown[] = [];
          let text = "";
          await assert.rejects(
            async () => {
              for await (const { choices } of stream) {
                text += choices[0]?.delta.content ?? "";
                if (choices[0]?.finish_reason) finished.push(choices[0].finish_reason);
              }
            },
            (error) => error instanceof OpenAI.APIError,
            JSON.stringify(fault),
          );
          t.strictSame(finished, []);
          t.equal(text, "one two three fo");
        }
      },
    );
  });

  t.test("errors arrive as the client's own classes", async (t) => {
    async function refused(
      body: ReturnType<typeof chat>,
      ErrorClass: new (...args: never[]) => InstanceType<typeof OpenAI.APIError>,
      expected: { status: number; code?: string | null; type?: string; param?: string | null },
      message = /.{10}/,
    ) {
      for (const stream of [false, true]) {
        await assert.rejects(openai.chat.completions.create({ ...body, stream }), (error) => {
          assert.ok(error instanceof ErrorClass, String(error));
          const { status, code, type, param } = error;
          assert.deepEqual(
            { status, code, type, param },
            { code: null, param: null, type: "invalid_request_error", ...expected },
          );
          assert.match(error.message, message);
          return true;
        });
      }
    }

    t.test("for what the upstream's protocol cannot express, naming the field", async (t) => {
      const before = await tally();
      for (const [param, more] of [
        ["n", { n: 2 }],
        ["logprobs", { logprobs: true }],
        ["audio", { audio: { voice: "alloy", format: "mp3" } }],
        ["web_search_options", { web_search_options: {} }],
      ] as const) {
        const expected = { status: 400, code: "unsupported_parameter", param };
        await refused(chat({}, more), OpenAI.BadRequestError, expected, new RegExp(param));
      }
      const orphan = { messages: [{ role: "tool", tool_call_id: "call_x", content: "1" }] };
      await refused(
        chat({}, orphan),
        OpenAI.BadRequestError,
        { status: 400, param: "messages" },
        /call_x/,
      );
      t.strictSame(await tally(), before);
    });
  });
});
