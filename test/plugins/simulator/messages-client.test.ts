import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Directive } from "../../../plugins/simulator/directive.ts";
import { asking, type Bench, startBench } from "./sim.ts";

describe("Anthropic's client against the simulator", () => {
  let bench: Bench;
  before(async () => {
    bench = await startBench();
  });
  after(() => bench.simulator.close());

  const request = (directive: Directive, max_tokens = 1_000) => ({
    model: "claude",
    max_tokens,
    messages: [{ role: "user" as const, content: asking(directive) }],
  });
  const both = async (directive: Directive, max_tokens?: number) => {
    const body = request(directive, max_tokens);
    const whole = await bench.anthropic.messages.create(body);
    const streamed = await bench.anthropic.messages.stream(body).finalMessage();
    return [whole, streamed] as const;
  };

  it("reads text, whole and streamed", async () => {
    for (const message of await both({ text: "Xin chào, thế giới 🌏!" })) {
      assert.equal(message.type, "message");
      assert.match(message.id, /^msg_[0-9a-f]{24}$/);
      assert.equal(message.role, "assistant");
      assert.equal(message.model, "claude");
      assert.equal(message.stop_reason, "end_turn");
      assert.deepEqual(message.content, [{ type: "text", text: "Xin chào, thế giới 🌏!" }]);
      assert.equal(
        message.usage.output_tokens,
        Math.ceil(Buffer.byteLength("Xin chào, thế giới 🌏!") / 4),
      );
    }
  });

  it("answers from the prompt when nothing is asked", async () => {
    const [message] = await both({});
    assert.deepEqual(message.content, [
      { type: "text", text: 'This is a simulated answer to "hello".' },
    ]);
    assert.equal(message.usage.input_tokens, Math.ceil("hello [[sim {}]]".length / 4));
  });

  it("reads thinking, redacted thinking, text, parallel tools and text after them", async () => {
    const directive: Directive = {
      thinking: "I think so.",
      signature: "sig",
      redacted_thinking: "secret",
      text: "Let me look.",
      tools: [
        { name: "weather", arguments: { city: "Huế", days: [1, [2]] }, id: "toolu_1" },
        { name: "clock" },
      ],
      text_after: "Done.",
    };
    for (const message of await both(directive)) {
      assert.equal(message.stop_reason, "tool_use");
      const [thinking, redacted, text, weather, clock, textAfter] = message.content;
      assert.deepEqual(thinking, { type: "thinking", thinking: "I think so.", signature: "sig" });
      assert.deepEqual(redacted, { type: "redacted_thinking", data: "secret" });
      assert.deepEqual(text, { type: "text", text: "Let me look." });
      assert.equal(weather?.type, "tool_use");
      assert.equal(weather.id, "toolu_1");
      assert.deepEqual(weather.input, { city: "Huế", days: [1, [2]] });
      assert.equal(clock?.type, "tool_use");
      assert.match(clock.id, /^toolu_/);
      assert.deepEqual(clock.input, {});
      assert.deepEqual(textAfter, { type: "text", text: "Done." });
      assert.equal(message.usage.output_tokens_details?.thinking_tokens, 3);
    }
  });

  it("takes cached input out of input_tokens and reports it beside", async () => {
    const directive = { input_tokens: 1_000, cache_read_tokens: 600, cache_write_tokens: 300 };
    for (const { usage } of await both({ ...directive, output_tokens: 7 })) {
      assert.equal(usage.input_tokens, 100);
      assert.equal(usage.cache_read_input_tokens, 600);
      assert.equal(usage.cache_creation_input_tokens, 300);
      assert.equal(usage.output_tokens, 7);
    }
  });

  it("stops at max_tokens, at a stop sequence and with a refusal", async () => {
    for (const message of await both({ output_tokens: 500 }, 20)) {
      assert.equal(message.stop_reason, "max_tokens");
      assert.equal(message.usage.output_tokens, 20);
      assert.equal(message.content[0]?.type === "text" && message.content[0].text.length, 80);
    }
    const stopped = await bench.anthropic.messages.create({
      ...request({ text: "one two three" }),
      stop_sequences: ["three", "two"],
    });
    assert.equal(stopped.stop_reason, "stop_sequence");
    assert.equal(stopped.stop_sequence, "two");
    assert.deepEqual(stopped.content, [{ type: "text", text: "one " }]);
    for (const message of await both({ refusal: "I will not." })) {
      assert.equal(message.stop_reason, "refusal");
      assert.equal(message.stop_details?.explanation, "I will not.");
    }
  });

  it("goes past max_tokens when told to", async () => {
    const [message] = await both({ output_tokens: 500, ignore_max_tokens: true }, 20);
    assert.equal(message.usage.output_tokens, 500);
    assert.equal(message.stop_reason, "end_turn");
  });

  it("has input_tokens 0 in message_start and the truth in message_delta when usage is late", async () => {
    const body = request({ input_tokens: 321, usage: "late" });
    const seen: (number | null)[] = [];
    for await (const event of await bench.anthropic.messages.create({ ...body, stream: true })) {
      if (event.type === "message_start") seen.push(event.message.usage.input_tokens);
      if (event.type === "message_delta") seen.push(event.usage.input_tokens);
    }
    assert.deepEqual(seen, [0, 321]);
  });

  it("counts tokens", async () => {
    const { input_tokens } = await bench.anthropic.messages.countTokens({
      model: "claude",
      system: "12345678",
      messages: [{ role: "user", content: "1234" }],
    });
    assert.equal(input_tokens, 3);
  });
});
