import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import OpenAI, { toFile } from "openai";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import type { Customer } from "../support/admin.ts";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { wholeCatalogueOfTests } from "../support/catalogue.ts";
import { asking, bodies } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

t.test("OpenAI's official client", async (t) => {
  const gateway = await sharedGateway({ catalogue: wholeCatalogueOfTests() });

  async function client(creditVnd?: string): Promise<{ openai: OpenAI; customer: Customer }> {
    const customer = await customerWith(gateway, creditVnd);
    return { openai: clientOf(customer.key), customer };
  }
  const clientOf = (apiKey: string, more: object = {}) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...more });

  t.test("chat completions", async (t) => {
    t.test("creates one, unstreamed", async (t) => {
      const { openai, customer } = await client();
      const { data, response } = await openai.chat.completions
        .create(bodies.chat({ text: "Xin chào 🌏", input_tokens: 10, output_tokens: 5 }))
        .withResponse();
      t.equal(data.choices[0]?.message.content, "Xin chào 🌏");
      t.equal(data.choices[0]?.finish_reason, "stop");
      t.equal(data.usage?.total_tokens, 15);
      // 15 tokens at 1,500 đ per million.
      t.equal(response.headers.get("x-svc-cost-vnd"), "0.0225");
      await assertBalance(gateway, customer, "99999.9775");
    });

    t.test("streams one, with a usage chunk only if requested, at the same cost", async (t) => {
      const { openai, customer } = await client();
      const body = bodies.chat({ text: "one two", input_tokens: 10, output_tokens: 5 });
      let text = "";
      for await (const chunk of await openai.chat.completions.create({ ...body, stream: true })) {
        t.equal(chunk.object, "chat.completion.chunk");
        t.equal(chunk.choices.length, 1);
        t.equal(chunk.usage ?? null, null);
        text += chunk.choices[0]?.delta.content ?? "";
      }
      t.equal(text, "one two");
      await assertBalance(gateway, customer, "99999.9775");
    });

    t.test("streams one with its usage if the client requests it", async (t) => {
      const { openai, customer } = await client();
      const stream = openai.chat.completions.stream({
        ...bodies.chat({ text: "one two", input_tokens: 10, output_tokens: 5 }),
        stream_options: { include_usage: true },
      });
      t.equal(await stream.finalContent(), "one two");
      t.equal((await stream.totalUsage()).total_tokens, 15);
      await assertBalance(gateway, customer, "99999.9775");
    });

    t.test(
      "calls tools in parallel and sends their results back, unstreamed and streamed",
      async (t) => {
        const { openai } = await client();
        const body = bodies.chat(
          {
            tools: [
              { name: "weather", arguments: { city: "Huế" }, id: "call_1" },
              { name: "clock", id: "call_2" },
            ],
            interleave: true,
          },
          {
            tools: [
              { type: "function" as const, function: { name: "weather", parameters: {} } },
              { type: "function" as const, function: { name: "clock", parameters: {} } },
            ],
          },
        );
        const whole = await openai.chat.completions.create(body);
        const streamed = await openai.chat.completions.stream(body).finalChatCompletion();
        for (const { choices } of [whole, streamed]) {
          assert.equal(choices[0]?.finish_reason, "tool_calls");
          t.strictSame(
            choices[0].message.tool_calls?.map((call) =>
              call.type === "function"
                ? [call.id, call.function.name, JSON.parse(call.function.arguments)]
                : call,
            ),
            [
              ["call_1", "weather", { city: "Huế" }],
              ["call_2", "clock", {}],
            ],
          );
        }
        const answer = await openai.chat.completions.create({
          ...body,
          messages: [
            ...body.messages,
            whole.choices[0]!.message,
            { role: "tool", tool_call_id: "call_1", content: "31 °C" },
            { role: "tool", tool_call_id: "call_2", content: "12:00" },
            { role: "user", content: asking({ text: "It is hot." }) },
          ],
        });
        t.equal(answer.choices[0]?.message.content, "It is hot.");
      },
    );

    t.test("sends an image to a model that accepts images", async (t) => {
      const { openai, customer } = await client();
      const url = `data:image/png;base64,${makePng(4, 4, 0xff0000).toString("base64")}`;
      const answer = await openai.chat.completions.create({
        ...bodies.chat(),
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: asking({ text: "red" }, "colour?") },
              { type: "image_url", image_url: { url } },
            ],
          },
        ],
      });
      t.equal(answer.choices[0]?.message.content, "red");
      t.ok(answer.usage!.prompt_tokens > 256);
      const record = await billedCall(gateway, customer);
      t.equal(record["input_tokens"], answer.usage!.prompt_tokens);
    });

    t.test("gets the reasoning of a model that thinks", async (t) => {
      const { openai, customer } = await client();
      const answer = await openai.chat.completions.create({
        ...bodies.chat({ thinking: "I think so.", reasoning_tokens: 3, text: "Yes." }),
        model: "deepseek-v4-flash",
        reasoning_effort: "high",
      });
      const message = answer.choices[0]!.message;
      t.equal(message.content, "Yes.");
      t.equal("reasoning_content" in message && message.reasoning_content, "I think so.");
      const record = await billedCall(gateway, customer);
      t.equal(record["reasoning_tokens"], 3);
    });
  });

  t.test("responses", async (t) => {
    t.test("creates one, unstreamed and streamed", async (t) => {
      const { openai, customer } = await client();
      const body = bodies.responses({ text: "one two", input_tokens: 10, output_tokens: 5 });
      const whole = await openai.responses.create(body);
      t.equal(whole.output_text, "one two");
      t.equal(whole.status, "completed");
      const types: string[] = [];
      let text = "";
      for await (const event of await openai.responses.create({ ...body, stream: true })) {
        types.push(event.type);
        if (event.type === "response.output_text.delta") text += event.delta;
      }
      t.equal(text, "one two");
      t.equal(types[0], "response.created");
      t.equal(types.at(-1), "response.completed");
      const final = await openai.responses.stream(body).finalResponse();
      t.equal(final.output_text, "one two");
      // 3 × 15 tokens at 1,500 đ per million.
      await assertBalance(gateway, customer, "99999.9325");
    });

    t.test("calls tools", async (t) => {
      const { openai } = await client();
      const answer = await openai.responses.create({
        ...bodies.responses({ tools: [{ name: "weather", arguments: { city: "Huế" } }] }),
        tools: [{ type: "function", name: "weather", parameters: {}, strict: false }],
      });
      const call = answer.output.find((item) => item.type === "function_call");
      assert.equal(call?.name, "weather");
      t.strictSame(JSON.parse(call.arguments), { city: "Huế" });
    });
  });

  t.test("images", async (t) => {
    const png = makePng(8, 8, 0x00ff00);

    t.test("generates n of them", async (t) => {
      const { openai, customer } = await client();
      const { data } = await openai.images.generate(
        bodies.images({}, { n: 2, size: "1024x1536" as const }),
      );
      assert.equal(data?.length, 2);
      const first = Buffer.from(data[0]?.b64_json ?? "", "base64");
      t.strictSame([first.readUInt32BE(16), first.readUInt32BE(20)], [1024, 1536]);
      await assertBalance(gateway, customer, "98000");
    });

    t.test("edits one from a file, which arrives byte for byte", async (t) => {
      const { openai, customer } = await client();
      const image = await toFile(png, "photo.png", { type: "image/png" });
      const { data } = await openai.images.edit({
        model: "req/gpt-image-2",
        image,
        prompt: asking({ echo: true }, "make it blue"),
        size: "1024x1024",
        n: 2,
      });
      assert.equal(data?.length, 2);
      const { body } = JSON.parse(data[0]?.revised_prompt ?? "");
      t.strictSame(body.image, {
        filename: "photo.png",
        type: "image/png",
        bytes: png.length,
        sha256: createHash("sha256").update(png).digest("hex"),
      });
      t.equal(body.model, "gpt-image-2");
      t.equal(body.size, "1024x1024");
      t.equal(body.n, "2");
      await assertBalance(gateway, customer, "98000");
    });

    t.test("edits several files at a time", async (t) => {
      const { openai, customer } = await client();
      const files = await Promise.all(
        ["a.png", "b.png"].map((name) => toFile(png, name, { type: "image/png" })),
      );
      const { data } = await openai.images.edit({
        model: "req/gpt-image-2",
        image: files,
        prompt: asking({ echo: true }),
      });
      const { body } = JSON.parse(data?.[0]?.revised_prompt ?? "");
      t.equal(body.image.length, 2);
      // The second reference image costs 0.24 of the price.
      await assertBalance(gateway, customer, "98760");
    });
  });

  t.test("speech", async (t) => {
    t.test("is audio bytes with the provider's content type", async (t) => {
      const { openai, customer } = await client();
      const speech = await openai.audio.speech.create(bodies.speech({ audio_bytes: 100_000 }));
      t.equal(speech.headers.get("content-type"), "audio/mpeg");
      t.equal((await speech.arrayBuffer()).byteLength, 100_000);
      const wav = await openai.audio.speech.create(
        bodies.speech({}, { response_format: "wav" as const }),
      );
      t.equal(wav.headers.get("content-type"), "audio/wav");
      await wav.arrayBuffer();
      await assertBalance(gateway, customer, "97300");
    });

    t.test("is streamed as events if the client requests it, and costs the same", async (t) => {
      const { openai, customer } = await client();
      const speech = await openai.audio.speech.create(
        bodies.speech({}, { stream_format: "sse" as const }),
      );
      const text = await speech.text();
      t.equal(text.slice(0, 26), "event: speech.audio.delta\n");
      t.match(text.slice(-200), /"type":"speech\.audio\.done"[^\n]*\n\n$/);
      await assertBalance(gateway, customer, "98650");
    });
  });

  t.test("lists and retrieves models", async (t) => {
    const { openai } = await client();
    const ids: string[] = [];
    for await (const model of openai.models.list()) ids.push(model.id);
    t.equal(ids.length, 102);
    for (const id of ["gpt-4.1-nano", "req/gpt-image-2", "svc/grok-4.3"]) {
      const model = await openai.models.retrieve(id);
      t.equal(model.id, id);
      t.equal(model.object, "model");
    }
    await assert.rejects(openai.models.retrieve("no-such-model"), OpenAI.NotFoundError);
  });

  t.test(
    "works with the base address with /v1; without it or doubled a 404 explains the mistake",
    async () => {
      const { customer } = await client();
      for (const [baseURL, message] of [
        [gateway.url, /\/v1 is missing: use \/v1\/chat\/completions/],
        [`${gateway.url}/v1/v1`, /\/v1 is doubled: use \/v1\/chat\/completions/],
      ] as const) {
        // Even with a wrong key, since the address is checked first.
        for (const key of [customer.key, "tg-wrong"]) {
          const lost = clientOf(key, { baseURL });
          await assert.rejects(lost.chat.completions.create(bodies.chat()), (error) => {
            assert.ok(error instanceof OpenAI.NotFoundError);
            assert.match(error.message, message);
            return true;
          });
        }
      }
    },
  );
});
