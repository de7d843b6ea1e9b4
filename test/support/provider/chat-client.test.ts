import assert from "node:assert/strict";
import t from "tap";
import type { Directive } from "./directive.ts";
import { asking, type Bench, chatBody, post, startBench } from "./sim.ts";

t.test("OpenAI's client against the simulated chat completions", async (t) => {
  let bench: Bench;
  t.before(async () => {
    bench = await startBench();
  });
  t.teardown(() => bench.simulator.close());

  const request = (directive: Directive, more: object = {}) => ({
    model: "gpt",
    messages: [{ role: "user" as const, content: asking(directive) }],
    ...more,
  });
  const both = async (directive: Directive, more: object = {}) => {
    const body = request(directive, more);
    const whole = await bench.openai.chat.completions.create(body);
    const streamed = await bench.openai.chat.completions
      .stream({ ...body, stream_options: { include_usage: true } })
      .finalChatCompletion();
    return [whole, streamed] as const;
  };

  t.test("reads text and usage, unstreamed and streamed", async (t) => {
    for (const completion of await both({ text: "Xin chào 🌏", cache_read_tokens: 3 })) {
      t.match(completion.id, /^chatcmpl-/);
      t.equal(completion.object, "chat.completion");
      t.equal(completion.choices[0]?.message.content, "Xin chào 🌏");
      t.equal(completion.choices[0]?.finish_reason, "stop");
      const { usage } = completion;
      assert.equal(usage?.completion_tokens, Math.ceil(Buffer.byteLength("Xin chào 🌏") / 4));
      t.equal(usage.prompt_tokens_details?.cached_tokens, 3);
      t.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    }
  });

  t.test("reads parallel tool calls, one after the other and interleaved", async (t) => {
    const tools = [
      { name: "weather", arguments: { city: "Huế" } },
      { name: "clock", arguments: '{"zone":', id: "call_x" },
    ];
    for (const interleave of [false, true]) {
      for (const completion of await both({ tools, interleave, argument_deltas: 5 })) {
        const message = completion.choices[0]?.message;
        t.equal(completion.choices[0]?.finish_reason, "tool_calls");
        t.equal(message?.content || null, null);
        const calls = (message?.tool_calls ?? []).map((call) => {
          assert.equal(call.type, "function");
          return [call.function.name, call.function.arguments];
        });
        t.strictSame(calls, [
          ["weather", '{"city":"Huế"}'],
          ["clock", '{"zone":'],
        ]);
        t.equal(message?.tool_calls?.[1]?.id, "call_x");
      }
    }
  });

  t.test("reads a refusal, reasoning, several choices", async (t) => {
    for (const completion of await both({ refusal: "No." })) {
      t.equal(completion.choices[0]?.message.refusal, "No.");
    }
    const [reasoned] = await both({ thinking: "hmm", reasoning_field: "reasoning", text: "Yes" });
    t.match(JSON.stringify(reasoned.choices[0]?.message), /"reasoning":"hmm"/);
    t.equal(reasoned.usage?.completion_tokens_details?.reasoning_tokens, 1);
    t.equal(reasoned.usage?.completion_tokens, 2);
    for (const completion of await both({ text: "four" }, { n: 3 })) {
      t.strictSame(
        completion.choices.map((choice) => choice.message.content),
        ["four", "four", "four"],
      );
      t.equal(completion.usage?.completion_tokens, 3);
    }
  });

  t.test("stops at either field's limit", async (t) => {
    for (const field of ["max_tokens", "max_completion_tokens"]) {
      for (const completion of await both({ output_tokens: 9 }, { [field]: 5 })) {
        t.equal(completion.choices[0]?.message.content?.length, 20);
        t.equal(completion.usage?.completion_tokens, 5);
      }
    }
  });

  const usages = async (directive: Directive, include_usage: boolean) => {
    const options = include_usage ? { stream_options: { include_usage } } : {};
    const response = await post(
      bench,
      "/v1/chat/completions",
      chatBody(directive, { stream: true, ...options }),
    );
    return (await response.text())
      .split("\n\n")
      .filter((event) => event.startsWith("data: {"))
      .map((event) => JSON.parse(event.slice(6)) as { choices: unknown[]; usage?: object | null });
  };

  t.test("streams usage only if asked, in a last chunk without choices", async (t) => {
    const asked = await usages({ text: "12345678" }, true);
    t.strictSame(asked.at(-1)?.choices, []);
    t.ok(asked.at(-1)?.usage);
    t.ok(asked.slice(0, -1).every((chunk) => chunk.usage === null));
    const unasked = await usages({ text: "12345678" }, false);
    t.ok(unasked.every((chunk) => !("usage" in chunk) && chunk.choices.length === 1));
  });

  t.test("reports usage in the different ways of providers", async (t) => {
    const missing = await usages({ usage: "missing" }, true);
    t.ok(missing.every((chunk) => !("usage" in chunk)));
    const zero = await usages({ usage: "zero" }, true);
    t.match(JSON.stringify(zero.at(-1)?.usage), /"total_tokens":0/);
    const everywhere = await usages({ usage: "every_chunk" }, false);
    t.ok(everywhere.every((chunk) => chunk.usage));
    const finish = await usages({ usage: "with_finish" }, true);
    t.equal(finish.at(-1)?.choices.length, 1);
    t.ok(finish.at(-1)?.usage);
  });
});
