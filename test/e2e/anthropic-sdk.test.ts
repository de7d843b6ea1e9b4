import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import type { Customer } from "../support/admin.ts";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { wholeCatalogueOfTests } from "../support/catalogue.ts";
import { asking, bodies } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

t.test("Anthropic's official client", async (t) => {
  const gateway = await sharedGateway({ catalogue: wholeCatalogueOfTests() });

  async function client(creditVnd?: string): Promise<{ anthropic: Anthropic; customer: Customer }> {
    const customer = await customerWith(gateway, creditVnd);
    return { anthropic: clientOf(customer.key), customer };
  }
  const clientOf = (apiKey: string, more: object = {}) =>
    new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0, ...more });
  const tally = async () => (await gateway.simulator.stats())["/v1/messages"]!;

  t.test("creates a message, unstreamed", async (t) => {
    const { anthropic, customer } = await client();
    const { data: message, response } = await anthropic.messages
      .create(bodies.messages({ text: "Xin chào 🌏", input_tokens: 10, output_tokens: 5 }))
      .withResponse();
    t.strictSame(message.content, [{ type: "text", text: "Xin chào 🌏" }]);
    t.equal(message.stop_reason, "end_turn");
    t.equal(message.usage.output_tokens, 5);
    t.equal(response.headers.get("x-svc-cost-vnd"), "0.54");
    await assertBalance(gateway, customer, "99999.46");
  });

  t.test("streams a message", async (t) => {
    const { anthropic, customer } = await client();
    const stream = anthropic.messages.stream(
      bodies.messages({ text: "one two three", input_tokens: 10, output_tokens: 5 }),
    );
    let text = "";
    stream.on("text", (delta) => {
      text += delta;
    });
    const message = await stream.finalMessage();
    t.equal(text, "one two three");
    t.strictSame(message.content, [{ type: "text", text: "one two three" }]);
    t.equal(message.usage.output_tokens, 5);
    await assertBalance(gateway, customer, "99999.46");
  });

  t.test("accepts the key as a bearer token too", async (t) => {
    const customer = await customerWith(gateway);
    const anthropic = new Anthropic({
      baseURL: gateway.url,
      apiKey: null,
      authToken: customer.key,
      maxRetries: 0,
    });
    const message = await anthropic.messages.create(bodies.messages({ text: "ok" }));
    t.strictSame(message.content, [{ type: "text", text: "ok" }]);
  });

  t.test(
    "calls tools in parallel and sends their results back, unstreamed and streamed",
    async (t) => {
      const { anthropic } = await client();
      const tools: Anthropic.Tool[] = [
        { name: "weather", input_schema: { type: "object", properties: { city: {} } } },
        { name: "clock", input_schema: { type: "object" } },
      ];
      const body = bodies.messages(
        {
          text: "Let me look.",
          tools: [
            { name: "weather", arguments: { city: "Huế", days: [1, [2]] }, id: "toolu_1" },
            { name: "clock", id: "toolu_2" },
          ],
        },
        { tools },
      );
      const whole = await anthropic.messages.create(body);
      const streamed = await anthropic.messages.stream(body).finalMessage();
      for (const { content, stop_reason } of [whole, streamed]) {
        t.equal(stop_reason, "tool_use");
        t.strictSame(content, [
          { type: "text", text: "Let me look." },
          {
            type: "tool_use",
            id: "toolu_1",
            name: "weather",
            input: { city: "Huế", days: [1, [2]] },
          },
          { type: "tool_use", id: "toolu_2", name: "clock", input: {} },
        ]);
      }
      const answer = await anthropic.messages.create({
        ...body,
        messages: [
          ...body.messages,
          { role: "assistant", content: whole.content },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "toolu_1", content: "31 °C" },
              { type: "tool_result", tool_use_id: "toolu_2", content: "12:00" },
              { type: "text", text: asking({ text: "It is hot." }) },
            ],
          },
        ],
      });
      t.strictSame(answer.content, [{ type: "text", text: "It is hot." }]);
    },
  );

  t.test("sends an image to a model that accepts images", async (t) => {
    const { anthropic, customer } = await client();
    const data = makePng(4, 4, 0xff0000).toString("base64");
    const message = await anthropic.messages.create({
      ...bodies.messages(),
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data } },
            { type: "text", text: asking({ text: "red" }, "colour?") },
          ],
        },
      ],
    });
    t.strictSame(message.content, [{ type: "text", text: "red" }]);
    // The simulated provider counts 256 tokens per image, which are charged as input.
    const record = await billedCall(gateway, customer);
    t.equal(record["input_tokens"], message.usage.input_tokens);
    t.ok(message.usage.input_tokens > 256);
  });

  t.test("gets thinking with its signature, unstreamed and streamed", async (t) => {
    const { anthropic } = await client();
    const body = bodies.messages(
      { thinking: "I think so.", signature: "sig", redacted_thinking: "hidden", text: "Yes." },
      { thinking: { type: "enabled", budget_tokens: 1024 } },
    );
    const whole = await anthropic.messages.create(body);
    const streamed = await anthropic.messages.stream(body).finalMessage();
    for (const { content } of [whole, streamed]) {
      t.strictSame(content, [
        { type: "thinking", thinking: "I think so.", signature: "sig" },
        { type: "redacted_thinking", data: "hidden" },
        { type: "text", text: "Yes." },
      ]);
    }
  });

  t.test(
    "that aborts in the middle of a stream cancels upstream and pays for what was delivered",
    async (t) => {
      const { anthropic, customer } = await client();
      const before = await tally();
      const delivered = "abcd".repeat(10);
      const stream = anthropic.messages.stream(
        // Ten deltas of text come, then the stream is silent until the client leaves.
        bodies.messages({
          text: `${delivered}never`,
          input_tokens: 100,
          silent_ms: 600_000,
          silent_after_events: 12,
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
      t.equal(record["input_tokens"], 100);
      // 40 characters at 4.2 bytes a token, rounded up.
      t.equal(record["output_tokens"], 10);
      t.equal(record["cost_vnd"], "3.96");
      await assertBalance(gateway, customer, "99996.04");
    },
  );

  t.test("retries a 429 of the provider by itself, and pays once", async (t) => {
    const { customer } = await client();
    const patient = clientOf(customer.key, { maxRetries: 2 });
    const message = await patient.messages.create(
      bodies.messages({
        text: "ok",
        input_tokens: 10,
        output_tokens: 5,
        status: 429,
        retry_after: 0,
        fail_times: 1,
        key: "anthropic-retry",
      }),
    );
    t.strictSame(message.content, [{ type: "text", text: "ok" }]);
    await assertBalance(gateway, customer, "99999.46");
  });

  t.test("lists and retrieves models", async (t) => {
    const { anthropic } = await client();
    const ids: string[] = [];
    for await (const model of anthropic.models.list({ limit: 40 })) ids.push(model.id);
    t.equal(ids.length, 102);
    t.equal(new Set(ids).size, 102);
    for (const id of ["claude-opus-5-5", "req/claude-opus-5-5", "svc/claude-opus-5-5"]) {
      const model = await anthropic.models.retrieve(id);
      t.equal(model.id, id);
      t.equal(model.type, "model");
    }
    await assert.rejects(anthropic.models.retrieve("no-such-model"), Anthropic.NotFoundError);
  });

  t.test("counts tokens for free, even with an empty wallet", async (t) => {
    const { key } = await customerWith(gateway, "0.000001");
    const { input_tokens } = await clientOf(key).messages.countTokens({
      model: "claude-opus-5-5",
      system: "Be brief.",
      messages: [{ role: "user", content: "How many tokens are in this sentence?" }],
    });
    t.ok(input_tokens >= 8 && input_tokens <= 40, `${input_tokens}`);
  });

  t.test(
    "works with the plain base address; with /v1 doubled a 404 explains the mistake",
    async () => {
      const { customer } = await client();
      const doubled = clientOf(customer.key, { baseURL: `${gateway.url}/v1` });
      await assert.rejects(doubled.messages.create(bodies.messages()), (error) => {
        assert.ok(error instanceof Anthropic.NotFoundError);
        assert.match(error.message, /\/v1 is doubled/);
        return true;
      });
      const keyless = clientOf("tg-wrong", { baseURL: `${gateway.url}/api` });
      await assert.rejects(keyless.messages.create(bodies.messages()), Anthropic.NotFoundError);
    },
  );
});
