import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import type { Customer } from "../support/admin.ts";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { echoIn } from "../support/echo.ts";
import type { TestGateway } from "../support/gateway.ts";
import "../support/patient-fetch.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, bodies, paths } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

/** The upstream speaks `/v1/chat/completions`; the clients in this file only speak Messages. */
const MODEL = "gpt-4.1-nano";
/** A model that thinks, with effort levels from low to max. */
const THINKING_MODEL = "gpt-5.6-luna";
/** A model whose provider requires its own reasoning back. */
const REPLAY_MODEL = "deepseek-v4-flash";

const WEATHER: Anthropic.Tool = {
  name: "weather",
  description: "The weather of a city.",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};
const CLOCK: Anthropic.Tool = { name: "clock", input_schema: { type: "object" } };
const SCHEMA = {
  type: "object",
  title: "the weather",
  properties: { city: { type: "string" }, celsius: { type: "number" } },
  required: ["city", "celsius"],
  additionalProperties: false,
} as const;

t.test("Anthropic's client on a model of the Chat protocol", async (t) => {
  let gateway: TestGateway;
  let anthropic: Anthropic;
  t.before(async () => {
    gateway = await sharedGateway();
    anthropic = clientOf((await customerWith(gateway)).key);
  });

  const clientOf = (apiKey: string, more: object = {}) =>
    new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0, ...more });
  async function fresh(): Promise<{ anthropic: Anthropic; customer: Customer }> {
    const customer = await customerWith(gateway);
    return { anthropic: clientOf(customer.key), customer };
  }
  const tally = async () => (await gateway.simulator.stats())[paths.chat]!;
  const message = (directive: Directive = {}, more: object = {}) =>
    bodies.messages(directive, { model: MODEL, ...more });

  /** The upstream request for an ordinary prompt. */
  async function upstreamOf(more: object, messages: Anthropic.MessageParam[] = []) {
    const prompt = { role: "user" as const, content: asking({ echo: true }) };
    const { data, response } = await anthropic.messages
      .create({ model: MODEL, max_tokens: 4096, ...more, messages: [...messages, prompt] })
      .withResponse();
    const echo = echoIn(textOf(data));
    assert.equal(echo.path, paths.chat);
    return { ...echo, dropped: response.headers.get("x-svc-translate-dropped") };
  }

  /** The same request, unstreamed and with the streaming helper. */
  async function both(body: ReturnType<typeof message>) {
    const whole = await anthropic.messages.create(body);
    const streamed = await anthropic.messages.stream(body).finalMessage();
    return [whole, streamed] as const;
  }

  t.test("text", async (t) => {
    t.test("has the name of the requested model, and costs its usage, unstreamed", async (t) => {
      const { anthropic, customer } = await fresh();
      const { data, response } = await anthropic.messages
        .create(message({ text: "Xin chào 🌏", input_tokens: 10, output_tokens: 5 }))
        .withResponse();
      t.equal(data.type, "message");
      t.equal(data.role, "assistant");
      t.match(data.id, /^msg_/);
      t.equal(data.model, MODEL);
      t.strictSame(data.content, [{ type: "text", text: "Xin chào 🌏" }]);
      t.equal(data.stop_reason, "end_turn");
      t.equal(data.usage.input_tokens, 10);
      t.equal(data.usage.output_tokens, 5);
      // 15 tokens at 1,500 đ per million.
      t.equal(response.headers.get("x-svc-cost-vnd"), "0.0225");
      await assertBalance(gateway, customer, "99999.9775");
    });

    t.test("streams in the order that the protocol requires, and costs the same", async (t) => {
      const { anthropic, customer } = await fresh();
      const body = message({ text: "one two three", input_tokens: 10, output_tokens: 5 });
      const kinds: string[] = [];
      let text = "";
      for await (const event of await anthropic.messages.create({ ...body, stream: true })) {
        if (kinds.at(-1) !== event.type) kinds.push(event.type);
        if (event.type === "message_start") t.equal(event.message.model, MODEL);
        if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
          text += event.delta.text;
        }
      }
      t.equal(text, "one two three");
      t.strictSame(kinds, [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
      ]);
      await assertBalance(gateway, customer, "99999.9775");
    });

    t.test("is cut at the client's limit, with the matching stop reason", async (t) => {
      for (const { stop_reason, usage } of await both(
        message({ output_tokens: 100 }, { max_tokens: 7 }),
      )) {
        t.equal(stop_reason, "max_tokens");
        t.equal(usage.output_tokens, 7);
      }
    });

    t.test("of a refusal is a refusal, with the provider's explanation", async (t) => {
      for (const { content, stop_reason, stop_details } of await both(
        message({ refusal: "I cannot help with that." }),
      )) {
        t.equal(stop_reason, "refusal");
        t.strictSame(content, [{ type: "text", text: "I cannot help with that." }]);
        t.equal(stop_details?.explanation, "I cannot help with that.");
      }
    });

    t.test("ended by the provider's filter is a refusal too", async (t) => {
      for (const { stop_reason } of await both(message({ text: "so", stop: "content_filter" }))) {
        t.equal(stop_reason, "refusal");
      }
    });

    t.test("continues after tools, in a new block", async (t) => {
      const body = message(
        { text: "Before.", tools: [{ name: "clock", id: "call_1" }], text_after: "After." },
        { tools: [CLOCK] },
      );
      const { content } = await anthropic.messages.stream(body).finalMessage();
      t.strictSame(content, [
        { type: "text", text: "Before." },
        { type: "tool_use", id: "call_1", name: "clock", input: {} },
        { type: "text", text: "After." },
      ]);
    });
  });

  t.test("tools", async (t) => {
    const asked: Directive = {
      text: "Let me look.",
      tools: [
        { name: "weather", arguments: { city: "Huế", days: [1, [2]] }, id: "call_1" },
        { name: "clock", id: "call_2" },
      ],
    };
    const called = [
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "call_1", name: "weather", input: { city: "Huế", days: [1, [2]] } },
      { type: "tool_use", id: "call_2", name: "clock", input: {} },
    ];

    t.test(
      "are called in parallel, unstreamed and streamed, one after the other or interleaved",
      async (t) => {
        for (const interleave of [false, true]) {
          const body = message({ ...asked, interleave }, { tools: [WEATHER, CLOCK] });
          for (const { content, stop_reason } of await both(body)) {
            t.equal(stop_reason, "tool_use");
            t.strictSame(content, called);
          }
        }
      },
    );

    t.test("keep every byte of their arguments if they are interleaved upstream", async (t) => {
      const args = ["weather", "clock", "weather"].map((name, at) => ({
        name,
        id: `call_${at}`,
        arguments: JSON.stringify({ at, text: `${name} "\\ 🌏 `.repeat(200 + at) }),
      }));
      const body = message(
        { tools: args, interleave: true, argument_deltas: 150 },
        { tools: [WEATHER, CLOCK] },
      );
      const arrived: string[] = [];
      for await (const event of await anthropic.messages.create({ ...body, stream: true })) {
        if (event.type === "content_block_start") arrived.push("");
        if (event.type === "content_block_delta" && event.delta.type === "input_json_delta") {
          arrived[event.index] += event.delta.partial_json;
        }
      }
      t.strictSame(
        arrived,
        args.map((tool) => tool.arguments),
      );
    });

    t.test(
      "get their results back in a full loop, and the upstream receives matching pairs",
      async (t) => {
        const question = { role: "user" as const, content: asking(asked) };
        const first = await anthropic.messages
          .stream({
            model: MODEL,
            max_tokens: 4096,
            messages: [question],
            tools: [WEATHER, CLOCK],
          })
          .finalMessage();
        const conversation = (last: string): Anthropic.MessageParam[] => [
          question,
          { role: "assistant", content: first.content },
          {
            role: "user",
            content: [
              { type: "text", text: last },
              { type: "tool_result", tool_use_id: "call_1", content: "31 °C" },
              {
                type: "tool_result",
                tool_use_id: "call_2",
                is_error: true,
                content: [{ type: "text", text: "stopped" }],
              },
            ],
          },
        ];
        const more = { model: MODEL, max_tokens: 4096, tools: [WEATHER, CLOCK] };
        const answer = await anthropic.messages.create({
          ...more,
          messages: conversation(asking({ text: "It is hot." })),
        });
        t.strictSame(answer.content, [{ type: "text", text: "It is hot." }]);
        const echo = await anthropic.messages.create({
          ...more,
          messages: conversation(asking({ echo: true })),
        });
        const { body } = echoIn(textOf(echo));
        t.strictSame(body.tools, [
          {
            type: "function",
            function: {
              name: "weather",
              description: "The weather of a city.",
              parameters: WEATHER.input_schema,
            },
          },
          {
            type: "function",
            function: { name: "clock", parameters: { type: "object", properties: {} } },
          },
        ]);
        const [, assistant, ...results] = body.messages;
        t.equal(assistant.content, "Let me look.");
        t.strictSame(assistant.tool_calls, [
          {
            id: "call_1",
            type: "function",
            function: { name: "weather", arguments: '{"city":"Huế","days":[1,[2]]}' },
          },
          { id: "call_2", type: "function", function: { name: "clock", arguments: "{}" } },
        ]);
        t.strictSame(results, [
          { role: "tool", tool_call_id: "call_1", content: "31 °C" },
          { role: "tool", tool_call_id: "call_2", content: "Error: stopped" },
          { role: "user", content: asking({ echo: true }) },
        ]);
      },
    );

    t.test("deliver one megabyte of arguments in 100,000 deltas byte for byte", async (t) => {
      const args = JSON.stringify({ text: 'ab"\\ngạo 🌏 '.repeat(65_000) });
      t.ok(Buffer.byteLength(args) > 1_000_000);
      const body = message(
        { tools: [{ name: "weather", arguments: args }], argument_deltas: 100_000 },
        { tools: [WEATHER] },
      );
      const parts: string[] = [];
      for await (const event of await anthropic.messages.create({ ...body, stream: true })) {
        if (event.type !== "content_block_delta") continue;
        if (event.delta.type === "input_json_delta") parts.push(event.delta.partial_json);
      }
      t.ok(parts.length > 90_000);
      t.ok(parts.join("") === args);
    });

    t.test("keep names and ids for the client that are too long for the upstream", async (t) => {
      const name = `mcp__${"files_".repeat(15)}read`;
      const tools = [{ name, input_schema: { type: "object" as const } }];
      const id = `toolu_${"x".repeat(60)}`;
      const history: Anthropic.MessageParam[] = [
        { role: "user", content: "read" },
        { role: "assistant", content: [{ type: "tool_use", id, name, input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "1" }] },
      ];
      const { body } = await upstreamOf({ tools, tool_choice: { type: "tool", name } }, history);
      const sent: string = body.tools[0].function.name;
      t.match(sent, /^[a-zA-Z0-9_-]{1,64}$/);
      t.equal(body.tool_choice.function.name, sent);
      t.equal(body.messages[1].tool_calls[0].function.name, sent);
      t.match(body.messages[1].tool_calls[0].id, /^.{1,40}$/);
      t.equal(body.messages[2].tool_call_id, body.messages[1].tool_calls[0].id);
      for (const { content } of await both(message({ tools: [{ name: sent }] }, { tools }))) {
        assert.ok(content[0]?.type === "tool_use");
        t.equal(content[0].name, name);
      }
    });

    t.test(
      "get ids back unchanged upstream if the client's protocol does not allow them",
      async (t) => {
        const id = "functions.weather:0";
        const question = {
          role: "user" as const,
          content: asking({ tools: [{ name: "clock", id }] }),
        };
        const first = await anthropic.messages.create({
          ...message({}, { tools: [CLOCK] }),
          messages: [question],
        });
        const [call] = first.content;
        assert.ok(call?.type === "tool_use");
        t.match(call.id, /^[a-zA-Z0-9_-]+$/);
        const { body } = await upstreamOf({ tools: [CLOCK] }, [
          question,
          { role: "assistant", content: first.content },
          { role: "user", content: [{ type: "tool_result", tool_use_id: call.id }] },
        ]);
        t.equal(body.messages[1].tool_calls[0].id, id);
        t.equal(body.messages[2].tool_call_id, id);
      },
    );

    t.test("are chosen, forced, forbidden and serialised in the upstream's terms", async (t) => {
      const tools = [WEATHER];
      for (const [tool_choice, sent] of [
        [{ type: "auto" }, "auto"],
        [{ type: "any" }, "required"],
        [{ type: "none" }, "none"],
        [
          { type: "tool", name: "weather" },
          { type: "function", function: { name: "weather" } },
        ],
      ] as const) {
        t.strictSame((await upstreamOf({ tools, tool_choice })).body.tool_choice, sent);
      }
      const single = { type: "auto", disable_parallel_tool_use: true };
      t.equal((await upstreamOf({ tools, tool_choice: single })).body.parallel_tool_calls, false);
    });
  });

  t.test("the upstream request", async (t) => {
    t.test("contains images, inline and by address, and those of tool results", async (t) => {
      const data = makePng(4, 4, 0xff0000).toString("base64");
      const inline = {
        type: "image",
        source: { type: "base64", media_type: "image/png", data },
      } as const;
      const { body } = await upstreamOf({ tools: [CLOCK] }, [
        {
          role: "user",
          content: [
            inline,
            { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
            { type: "text", text: "colours?" },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "clock", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: [inline] }] },
      ]);
      const url = `data:image/png;base64,${data}`;
      t.strictSame(body.messages[0].content, [
        { type: "image_url", image_url: { url } },
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        { type: "text", text: "colours?" },
      ]);
      t.equal(body.messages[2].role, "tool");
      t.equal(typeof body.messages[2].content, "string");
      t.strictSame(body.messages[3].content.at(-1), { type: "image_url", image_url: { url } });
    });

    t.test("has the system prompt first, and one in mid-conversation at its place", async (t) => {
      const { body } = await upstreamOf({ system: [{ type: "text", text: "One." }] }, [
        { role: "user", content: "hello" },
        { role: "assistant", content: "hi" },
        { role: "system", content: "Two." } as unknown as Anthropic.MessageParam,
      ]);
      t.strictSame(body.messages.slice(0, 4), [
        { role: "system", content: "One." },
        { role: "user", content: "hello" },
        { role: "assistant", content: "hi" },
        { role: "system", content: "Two." },
      ]);
    });

    t.test("requests JSON by a schema", async (t) => {
      const output_config = { format: { type: "json_schema" as const, schema: SCHEMA } };
      const { body } = await upstreamOf({ output_config });
      t.strictSame(body.response_format, {
        type: "json_schema",
        json_schema: { name: "the_weather", schema: SCHEMA, strict: true },
      });
      const text = '{"city":"Huế","celsius":31}';
      const { parsed_output } = await anthropic.messages.parse(
        message({ text }, { output_config }),
      );
      t.strictSame(parsed_output, { city: "Huế", celsius: 31 });
    });

    t.test("requests usage for streams only", async (t) => {
      t.equal((await upstreamOf({})).body.stream_options, undefined);
      const streamed = await anthropic.messages.stream(message({ echo: true })).finalMessage();
      const { body } = echoIn(textOf(streamed));
      t.equal(body.stream, true);
      t.strictSame(body.stream_options, { include_usage: true });
    });

    t.test("leaves out unsupported hints, which the reply lists", async (t) => {
      const { body, dropped } = await upstreamOf({
        top_k: 5,
        cache_control: { type: "ephemeral" },
        metadata: { user_id: "u-1" },
        stop_sequences: ["END"],
        temperature: 0.5,
      });
      t.strictSame(dropped?.split(",").sort(), ["cache_control", "top_k"]);
      t.strictSame(Object.keys(body).sort(), [
        "max_completion_tokens",
        "messages",
        "model",
        "stop",
        "temperature",
        "user",
      ]);
      t.equal((await upstreamOf({})).dropped, null);
    });

    t.test("has no header of the client's protocol, and the reply lists them", async (t) => {
      const { data, response } = await anthropic.messages
        .create(message({ echo: true }), { headers: { "anthropic-beta": "a-1,b-2" } })
        .withResponse();
      const { headers } = echoIn(textOf(data));
      t.strictSame(
        Object.keys(headers).filter((name) => /anthropic|beta|x-api-key/.test(name)),
        [],
      );
      t.equal(headers["authorization"], "Bearer simulated");
      t.equal(response.headers.get("x-svc-translate-dropped"), "anthropic-beta");
    });

    t.test("keeps known betas on a call in the model's own protocol", async (t) => {
      const answer = await anthropic.messages.create(bodies.messages({ echo: true }), {
        headers: { "anthropic-beta": "claude-code-20250219,effort-2025-11-24" },
      });
      t.equal(
        echoIn(textOf(answer)).headers["anthropic-beta"],
        "claude-code-20250219,effort-2025-11-24",
      );
    });
  });

  t.test("thinking", async (t) => {
    t.test("is requested by effort, with the levels of the model", async (t) => {
      const ask = async (more: object, model = THINKING_MODEL) =>
        (await upstreamOf({ model, ...more })).body.reasoning_effort;
      t.equal(await ask({ thinking: { type: "enabled", budget_tokens: 2000 } }), "low");
      t.equal(await ask({ output_config: { effort: "max" } }), "max");
      t.equal(await ask({ output_config: { effort: "max" } }, "gpt-5.5"), "xhigh");
      t.equal(await ask({ output_config: { effort: "max" } }, MODEL), undefined);
    });

    t.test(
      "has its own block, unstreamed and streamed, under any of the providers' field names",
      async (t) => {
        for (const reasoning_field of ["reasoning_content", "reasoning"] as const) {
          const body = message({ thinking: "I think so.", reasoning_field, text: "Yes." });
          for (const { content } of await both(body)) {
            t.match(content, [
              { type: "thinking", thinking: "I think so.", signature: /^tgs1\.openai\.\./ },
              { type: "text", text: "Yes." },
            ]);
          }
        }
      },
    );

    t.test("is sent back to a provider that needs it, and to no other", async (t) => {
      const thinking = message({ thinking: "I think so.", text: "Yes." });
      const { content } = await anthropic.messages.create({ ...thinking, model: REPLAY_MODEL });
      const history: Anthropic.MessageParam[] = [
        { role: "user", content: "hello" },
        { role: "assistant", content },
      ];
      const replayed = (await upstreamOf({ model: REPLAY_MODEL }, history)).body;
      t.equal(replayed.messages[1].reasoning_content, "I think so.");
      const kept = (await upstreamOf({}, history)).body;
      t.strictSame(kept.messages[1], { role: "assistant", content: "Yes." });
    });

    t.test("and the cache are counted in the client's protocol", async (t) => {
      const body = message({
        text: "ok",
        input_tokens: 1000,
        cache_read_tokens: 600,
        cache_write_tokens: 300,
        output_tokens: 50,
        reasoning_tokens: 40,
      });
      for (const { usage } of await both(body)) {
        t.equal(usage.input_tokens, 100);
        t.equal(usage.cache_read_input_tokens, 600);
        t.equal(usage.cache_creation_input_tokens, 300);
        t.equal(usage.output_tokens, 50);
        t.equal(usage.output_tokens_details?.thinking_tokens, 40);
      }
    });
  });

  t.test("a stream", async (t) => {
    t.test(
      "that the client aborts is cancelled upstream, and costs what was delivered",
      async (t) => {
        const { anthropic, customer } = await fresh();
        const before = await tally();
        const delivered = "abcd".repeat(10);
        const stream = anthropic.messages.stream(
          message({
            text: `${delivered}never`,
            silent_ms: 600_000,
            silent_after_events: 11,
          }),
        );
        let text = "";
        await assert.rejects(async () => {
          for await (const event of stream) {
            if (event.type !== "content_block_delta" || event.delta.type !== "text_delta") continue;
            text += event.delta.text;
            if (text === delivered) stream.abort();
          }
          await stream.done();
        }, Anthropic.APIUserAbortError);
        await until("the upstream is cancelled", async () => {
          return (await tally())["aborted"] === before["aborted"]! + 1;
        });
        const record = await billedCall(gateway, customer);
        t.equal(record["outcome"], "gone");
        t.equal(record["estimated"], true);
        // 40 characters at 4.2 bytes a token, rounded up.
        t.equal(record["output_tokens"], 10);
      },
    );

    t.test(
      "that the upstream breaks off ends with an error, and never looks complete",
      async (t) => {
        for (const fault of [
          { cut_after_events: 5 },
          { end_after_events: 5 },
          { error_after_events: 5 },
        ] as const) {
          const stream = anthropic.messages.stream(
            message({ text: "one two three four", ...fault }),
          );
          const kinds: string[] = [];
          let text = "";
          stream.on("streamEvent", ({ type }) => kinds.push(type));
          stream.on("text", (delta) => {
            text += delta;
          });
          await assert.rejects(
            stream.finalMessage(),
            (error) => error instanceof Anthropic.APIError && /api_error/.test(error.message),
            JSON.stringify(fault),
          );
          t.equal(text, "one two three fo");
          t.ok(!kinds.includes("message_delta") && !kinds.includes("message_stop"));
        }
      },
    );
  });

  t.test("errors arrive as the client's own classes", async (t) => {
    type ErrorClass = new (...args: never[]) => InstanceType<typeof Anthropic.APIError>;
    async function refused(
      body: ReturnType<typeof message>,
      ErrorClass: ErrorClass,
      status: number,
      type: string,
      words = /.{10}/,
    ) {
      for (const stream of [false, true]) {
        await assert.rejects(anthropic.messages.create({ ...body, stream }), (error) => {
          assert.ok(error instanceof ErrorClass, String(error));
          assert.equal(error.status, status);
          const found = error.error as { type: string; error: { type: string; message: string } };
          assert.equal(found.type, "error");
          assert.equal(found.error.type, type);
          assert.match(found.error.message, words);
          return true;
        });
      }
    }

    t.test("for what the upstream's protocol cannot express, naming the field", async (t) => {
      const before = await tally();
      const invalid = "invalid_request_error";
      for (const [more, words] of [
        [{ container: "c" }, /container/],
        [{ mcp_servers: [{ type: "url", url: "https://example.com", name: "m" }] }, /mcp_servers/],
        [{ inference_geo: "us" }, /inference_geo/],
        [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, /tools\[0\]/],
        [{ temperature: 1.5 }, /temperature/],
        [
          {
            messages: [
              { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_orphan" }] },
            ],
          },
          /toolu_orphan/,
        ],
      ] as const) {
        await refused(message({}, more), Anthropic.BadRequestError, 400, invalid, words);
      }
      t.strictSame(await tally(), before);
    });
  });
});

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
