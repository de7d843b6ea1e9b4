import assert from "node:assert/strict";
import t from "tap";
import type { Directive } from "./directive.ts";
import { asking, type Bench, startBench } from "./sim.ts";

t.test("Anthropic's client against the simulator", async (t) => {
  let bench: Bench;
  t.before(async () => {
    bench = await startBench();
  });
  t.teardown(() => bench.simulator.close());

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

  t.test("reads text, unstreamed and streamed", async (t) => {
    for (const message of await both({ text: "Xin chào, thế giới 🌏!" })) {
      t.equal(message.type, "message");
      t.match(message.id, /^msg_[0-9a-f]{24}$/);
      t.equal(message.role, "assistant");
      t.equal(message.model, "claude");
      t.equal(message.stop_reason, "end_turn");
      t.strictSame(message.content, [{ type: "text", text: "Xin chào, thế giới 🌏!" }]);
      t.equal(
        message.usage.output_tokens,
        Math.ceil(Buffer.byteLength("Xin chào, thế giới 🌏!") / 4),
      );
    }
  });

  t.test("replies to the prompt if no directive is given", async (t) => {
    const [message] = await both({});
    t.strictSame(message.content, [
      { type: "text", text: 'This is a simulated answer to "hello".' },
    ]);
    t.equal(message.usage.input_tokens, Math.ceil("hello [[sim {}]]".length / 4));
  });

  t.test(
    "reads thinking, redacted thinking, text, parallel tools and text after them",
    async (t) => {
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
        t.equal(message.stop_reason, "tool_use");
        const [thinking, redacted, text, weather, clock, textAfter] = message.content;
        t.strictSame(thinking, { type: "thinking", thinking: "I think so.", signature: "sig" });
        t.strictSame(redacted, { type: "redacted_thinking", data: "secret" });
        t.strictSame(text, { type: "text", text: "Let me look." });
        assert.equal(weather?.type, "tool_use");
        t.equal(weather.id, "toolu_1");
        t.strictSame(weather.input, { city: "Huế", days: [1, [2]] });
        assert.equal(clock?.type, "tool_use");
        t.match(clock.id, /^toolu_/);
        t.strictSame(clock.input, {});
        t.strictSame(textAfter, { type: "text", text: "Done." });
        t.equal(message.usage.output_tokens_details?.thinking_tokens, 3);
      }
    },
  );

  t.test("takes cached input out of input_tokens and reports it separately", async (t) => {
    const directive = { input_tokens: 1_000, cache_read_tokens: 600, cache_write_tokens: 300 };
    for (const { usage } of await both({ ...directive, output_tokens: 7 })) {
      t.equal(usage.input_tokens, 100);
      t.equal(usage.cache_read_input_tokens, 600);
      t.equal(usage.cache_creation_input_tokens, 300);
      t.equal(usage.output_tokens, 7);
    }
  });

  t.test("stops at max_tokens, at a stop sequence and with a refusal", async (t) => {
    for (const message of await both({ output_tokens: 500 }, 20)) {
      t.equal(message.stop_reason, "max_tokens");
      t.equal(message.usage.output_tokens, 20);
      t.equal(message.content[0]?.type === "text" && message.content[0].text.length, 80);
    }
    const stopped = await bench.anthropic.messages.create({
      ...request({ text: "one two three" }),
      stop_sequences: ["three", "two"],
    });
    t.equal(stopped.stop_reason, "stop_sequence");
    t.equal(stopped.stop_sequence, "two");
    t.strictSame(stopped.content, [{ type: "text", text: "one " }]);
    for (const message of await both({ refusal: "I will not." })) {
      t.equal(message.stop_reason, "refusal");
      t.equal(message.stop_details?.explanation, "I will not.");
    }
  });

  t.test("exceeds max_tokens if the directive says so", async (t) => {
    const [message] = await both({ output_tokens: 500, ignore_max_tokens: true }, 20);
    t.equal(message.usage.output_tokens, 500);
    t.equal(message.stop_reason, "end_turn");
  });

  t.test(
    "reports input_tokens 0 in message_start and the real number in message_delta if usage is late",
    async (t) => {
      const body = request({ input_tokens: 321, usage: "late" });
      const seen: (number | null)[] = [];
      for await (const event of await bench.anthropic.messages.create({ ...body, stream: true })) {
        if (event.type === "message_start") seen.push(event.message.usage.input_tokens);
        if (event.type === "message_delta") seen.push(event.usage.input_tokens);
      }
      t.strictSame(seen, [0, 321]);
    },
  );

  t.test("counts tokens", async (t) => {
    const { input_tokens } = await bench.anthropic.messages.countTokens({
      model: "claude",
      system: "12345678",
      messages: [{ role: "user", content: "1234" }],
    });
    t.equal(input_tokens, 3);
  });
});
