import assert from "node:assert/strict";
import type { Response } from "openai/resources/responses/responses";
import t from "tap";
import type { Directive } from "./directive.ts";
import { asking, type Bench, startBench } from "./sim.ts";

t.test("OpenAI's client against the simulated responses", async (t) => {
  let bench: Bench;
  t.before(async () => {
    bench = await startBench();
  });
  t.teardown(() => bench.simulator.close());

  const both = async (directive: Directive, more: object = {}): Promise<Response[]> => {
    const body = { model: "gpt", input: asking(directive), ...more };
    return [
      await bench.openai.responses.create(body),
      await bench.openai.responses.stream(body).finalResponse(),
    ];
  };

  t.test("reads text and usage, unstreamed and streamed", async (t) => {
    for (const response of await both({
      text: "Xin chào",
      reasoning_tokens: 5,
      cache_read_tokens: 2,
    })) {
      t.match(response.id, /^resp_/);
      t.equal(response.status, "completed");
      t.equal(response.output_text, "Xin chào");
      assert.equal(response.usage?.output_tokens, 8);
      t.equal(response.usage.output_tokens_details.reasoning_tokens, 5);
      t.equal(response.usage.input_tokens_details.cached_tokens, 2);
    }
  });

  t.test("reads reasoning, function calls and a refusal", async (t) => {
    const directive: Directive = {
      thinking: "Let me see.",
      signature: "opaque",
      text: "Looking.",
      tools: [
        { name: "weather", arguments: { city: "Huế" } },
        { name: "clock", id: "call_x" },
      ],
    };
    for (const response of await both(directive)) {
      const [reasoning, message, weather, clock] = response.output;
      assert.equal(reasoning?.type, "reasoning");
      t.strictSame(reasoning.summary, [{ type: "summary_text", text: "Let me see." }]);
      t.equal(reasoning.encrypted_content, "opaque");
      assert.equal(message?.type, "message");
      assert.equal(weather?.type, "function_call");
      t.equal(weather.arguments, '{"city":"Huế"}');
      t.equal(clock?.type === "function_call" && clock.call_id, "call_x");
    }
    for (const response of await both({ refusal: "No." })) {
      const message = response.output[0];
      assert.equal(message?.type, "message");
      t.equal(message.content[0]?.type === "refusal" && message.content[0].refusal, "No.");
    }
  });

  t.test("ends as incomplete at the limit", async (t) => {
    for (const response of await both({ output_tokens: 90 }, { max_output_tokens: 10 })) {
      t.equal(response.status, "incomplete");
      t.equal(response.incomplete_details?.reason, "max_output_tokens");
      t.equal(response.usage?.output_tokens, 10);
    }
  });

  t.test("numbers its events without gaps and sends the text as deltas", async (t) => {
    const input = [{ role: "user" as const, content: asking({ text: "abcdefgh", deltas: 2 }) }];
    const stream = await bench.openai.responses.create({ model: "gpt", input, stream: true });
    const types: string[] = [];
    for await (const event of stream) {
      t.equal(event.sequence_number, types.length);
      types.push(event.type);
    }
    t.strictSame(types, [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });
});
