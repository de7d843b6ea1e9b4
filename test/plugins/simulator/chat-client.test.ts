import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Directive } from "../../../plugins/simulator/directive.ts";
import { asking, type Bench, chatBody, post, startBench } from "./sim.ts";

describe("OpenAI's client against the simulated chat completions", () => {
  let bench: Bench;
  before(async () => {
    bench = await startBench();
  });
  after(() => bench.simulator.close());

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

  it("reads text and usage, whole and streamed", async () => {
    for (const completion of await both({ text: "Xin chào 🌏", cache_read_tokens: 3 })) {
      assert.match(completion.id, /^chatcmpl-/);
      assert.equal(completion.object, "chat.completion");
      assert.equal(completion.choices[0]?.message.content, "Xin chào 🌏");
      assert.equal(completion.choices[0]?.finish_reason, "stop");
      const { usage } = completion;
      assert.equal(usage?.completion_tokens, Math.ceil(Buffer.byteLength("Xin chào 🌏") / 4));
      assert.equal(usage.prompt_tokens_details?.cached_tokens, 3);
      assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    }
  });

  it("reads parallel tool calls, one after the other and interleaved", async () => {
    const tools = [
      { name: "weather", arguments: { city: "Huế" } },
      { name: "clock", arguments: '{"zone":', id: "call_x" },
    ];
    for (const interleave of [false, true]) {
      for (const completion of await both({ tools, interleave, argument_deltas: 5 })) {
        const message = completion.choices[0]?.message;
        assert.equal(completion.choices[0]?.finish_reason, "tool_calls");
        assert.equal(message?.content || null, null);
        const calls = (message?.tool_calls ?? []).map((call) => {
          assert.equal(call.type, "function");
          return [call.function.name, call.function.arguments];
        });
        assert.deepEqual(calls, [
          ["weather", '{"city":"Huế"}'],
          ["clock", '{"zone":'],
        ]);
        assert.equal(message?.tool_calls?.[1]?.id, "call_x");
      }
    }
  });

  it("reads a refusal, reasoning, several choices", async () => {
    for (const completion of await both({ refusal: "No." })) {
      assert.equal(completion.choices[0]?.message.refusal, "No.");
    }
    const [reasoned] = await both({ thinking: "hmm", reasoning_field: "reasoning", text: "Yes" });
    assert.match(JSON.stringify(reasoned.choices[0]?.message), /"reasoning":"hmm"/);
    assert.equal(reasoned.usage?.completion_tokens_details?.reasoning_tokens, 1);
    assert.equal(reasoned.usage?.completion_tokens, 2);
    for (const completion of await both({ text: "four" }, { n: 3 })) {
      assert.deepEqual(
        completion.choices.map((choice) => choice.message.content),
        ["four", "four", "four"],
      );
      assert.equal(completion.usage?.completion_tokens, 3);
    }
  });

  it("stops at either limit", async () => {
    for (const field of ["max_tokens", "max_completion_tokens"]) {
      for (const completion of await both({ output_tokens: 9 }, { [field]: 5 })) {
        assert.equal(completion.choices[0]?.message.content?.length, 20);
        assert.equal(completion.usage?.completion_tokens, 5);
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

  it("streams usage only when asked, in a last chunk without choices", async () => {
    const asked = await usages({ text: "12345678" }, true);
    assert.deepEqual(asked.at(-1)?.choices, []);
    assert.ok(asked.at(-1)?.usage);
    assert.ok(asked.slice(0, -1).every((chunk) => chunk.usage === null));
    const unasked = await usages({ text: "12345678" }, false);
    assert.ok(unasked.every((chunk) => !("usage" in chunk) && chunk.choices.length === 1));
  });

  it("reports usage the ways providers do", async () => {
    const missing = await usages({ usage: "missing" }, true);
    assert.ok(missing.every((chunk) => !("usage" in chunk)));
    const zero = await usages({ usage: "zero" }, true);
    assert.match(JSON.stringify(zero.at(-1)?.usage), /"total_tokens":0/);
    const everywhere = await usages({ usage: "every_chunk" }, false);
    assert.ok(everywhere.every((chunk) => chunk.usage));
    const finish = await usages({ usage: "with_finish" }, true);
    assert.equal(finish.at(-1)?.choices.length, 1);
    assert.ok(finish.at(-1)?.usage);
  });
});
