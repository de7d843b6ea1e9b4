import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Response } from "openai/resources/responses/responses";
import type { Directive } from "../../../plugins/simulator/directive.ts";
import { asking, type Bench, startBench } from "./sim.ts";

describe("OpenAI's client against the simulated responses", () => {
  let bench: Bench;
  before(async () => {
    bench = await startBench();
  });
  after(() => bench.simulator.close());

  const both = async (directive: Directive, more: object = {}): Promise<Response[]> => {
    const body = { model: "gpt", input: asking(directive), ...more };
    return [
      await bench.openai.responses.create(body),
      await bench.openai.responses.stream(body).finalResponse(),
    ];
  };

  it("reads text and usage, whole and streamed", async () => {
    for (const response of await both({
      text: "Xin chào",
      reasoning_tokens: 5,
      cache_read_tokens: 2,
    })) {
      assert.match(response.id, /^resp_/);
      assert.equal(response.status, "completed");
      assert.equal(response.output_text, "Xin chào");
      assert.equal(response.usage?.output_tokens, 8);
      assert.equal(response.usage.output_tokens_details.reasoning_tokens, 5);
      assert.equal(response.usage.input_tokens_details.cached_tokens, 2);
    }
  });

  it("reads reasoning, function calls and a refusal", async () => {
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
      assert.deepEqual(reasoning.summary, [{ type: "summary_text", text: "Let me see." }]);
      assert.equal(reasoning.encrypted_content, "opaque");
      assert.equal(message?.type, "message");
      assert.equal(weather?.type, "function_call");
      assert.equal(weather.arguments, '{"city":"Huế"}');
      assert.equal(clock?.type === "function_call" && clock.call_id, "call_x");
    }
    for (const response of await both({ refusal: "No." })) {
      const message = response.output[0];
      assert.equal(message?.type, "message");
      assert.equal(message.content[0]?.type === "refusal" && message.content[0].refusal, "No.");
    }
  });

  it("ends incomplete at the limit", async () => {
    for (const response of await both({ output_tokens: 90 }, { max_output_tokens: 10 })) {
      assert.equal(response.status, "incomplete");
      assert.equal(response.incomplete_details?.reason, "max_output_tokens");
      assert.equal(response.usage?.output_tokens, 10);
    }
  });

  it("numbers its events without a gap and sends the deltas of the text", async () => {
    const input = [{ role: "user" as const, content: asking({ text: "abcdefgh", deltas: 2 }) }];
    const stream = await bench.openai.responses.create({ model: "gpt", input, stream: true });
    const types: string[] = [];
    for await (const event of stream) {
      assert.equal(event.sequence_number, types.length);
      types.push(event.type);
    }
    assert.deepEqual(types, [
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
