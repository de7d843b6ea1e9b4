import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Directive } from "../../plugins/simulator/directive.ts";
import { admin, type Customer } from "../support/admin.ts";
import {
  assertBalance,
  assertNotCharged,
  billedCall,
  billedCalls,
  customerWith,
} from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { setDiscount } from "../support/ledger-sql.ts";
import { startOneReplyUpstream } from "../support/one-reply-upstream.ts";
import { type Answer, bodies, eventsOf, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

/** 1,000 tokens in, 500 out. */
const TOKENS: Directive = { input_tokens: 1000, output_tokens: 500 };

describe("billing", () => {
  let gateway: TestGateway;
  let detached: Awaited<ReturnType<typeof startOneReplyUpstream>>;

  before(async () => {
    // A provider that reports image tokens beside its input, which none of the simulated ones do.
    detached = await startOneReplyUpstream({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "MiniMax-M3",
      choices: [
        { index: 0, message: { role: "assistant", content: "a cat" }, finish_reason: "stop" },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 20, image_tokens: 300, total_tokens: 420 },
    });
    gateway = await startGateway({
      config: { upstreams: { minimax: { protocols: { chat: detached.url } } } },
    });
  });
  after(async () => {
    await gateway.close();
    await detached.stop();
  });

  const messages = (customer: Customer, directive: Directive, more?: object) =>
    post(gateway, paths.messages, customer, bodies.messages(directive, more));
  const chat = (customer: Customer, directive: Directive, more?: object) =>
    post(gateway, paths.chat, customer, bodies.chat(directive, more));

  it("billing rule 1: every call is charged to the wallet balance", async () => {
    const customer = await customerWith(gateway);
    // At 36,000 đ per million: 54 đ. At 1,500 đ: 2.25 đ, twice. Then 1,000 đ and 1,350 đ.
    for (const answer of [
      await messages(customer, TOKENS),
      await chat(customer, TOKENS),
      await post(gateway, paths.responses, customer, bodies.responses(TOKENS)),
      await post(gateway, paths.images, customer, bodies.images()),
      await post(gateway, paths.speech, customer, bodies.speech()),
    ]) {
      assert.equal(answer.status, 200);
    }
    await assertBalance(gateway, customer, "97591.5");
    assert.deepEqual(
      (await billedCalls(gateway, customer, 5)).map((record) => record["cost_vnd"]),
      ["1350", "1000", "2.25", "2.25", "54"],
    );
  });

  describe("billing rule 2: models per token cost (input + output) × price per 1,000,000", () => {
    for (const [model, input, output, cost] of [
      // The dearest and the cheapest, and a sum that is no whole đ.
      ["claude-fable-5-2", 1_000_000, 1, "55000.055"],
      ["svc/claude-opus-5-5", 1234, 567, "68.438"],
      ["claude-haiku-5-5", 333, 1, "1.002"],
    ] as const) {
      it(`${input} + ${output} tokens of ${model} cost ${cost} đ`, async () => {
        const customer = await customerWith(gateway);
        const directive = { input_tokens: input, output_tokens: output };
        const answer = await messages(customer, directive, { model });
        assert.equal(answer.headers.get("x-svc-cost-vnd"), cost);
        const micro = 100_000_000_000n - BigInt(Math.round(Number(cost) * 1_000_000));
        await assertBalance(gateway, customer, vnd(micro));
      });
    }

    it("1 + 1 tokens of gpt-4.1-nano cost 0.003 đ", async () => {
      const customer = await customerWith(gateway);
      await chat(customer, { input_tokens: 1, output_tokens: 1 });
      await assertBalance(gateway, customer, "99999.997");
    });
  });

  it("billing rule 3: models whose ids start with req/ cost a fixed price per call", async () => {
    const customer = await customerWith(gateway);
    for (const directive of [TOKENS, { input_tokens: 900_000, output_tokens: 4000 }]) {
      const model = { model: "req/claude-opus-5-5" };
      const answer = await messages(customer, directive, model);
      assert.equal(answer.headers.get("x-svc-cost-vnd"), "1250");
      assert.equal(answer.headers.get("x-svc-price-vnd-per-request"), "1250");
      const streamed = await messages(customer, directive, { ...model, stream: true });
      assert.equal(streamed.status, 200);
    }
    await chat(customer, TOKENS, { model: "req/gpt-4.1-nano" });
    // 4 × 1,250 đ and 230 đ.
    await assertBalance(gateway, customer, "94770");
    const [last] = await billedCalls(gateway, customer, 5);
    assert.deepEqual([last?.["input_tokens"], last?.["output_tokens"]], [1000, 500]);
  });

  describe("billing rule 4: image tokens are billed as input tokens", () => {
    const content = [
      { type: "text", text: "what is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    ];

    it("counted inside of the provider's input, they are not added again", async () => {
      const customer = await customerWith(gateway);
      const answer = await chat(customer, {}, { messages: [{ role: "user", content }] });
      // 4 tokens of text and 256 of the image.
      assert.equal(answer.json.usage.prompt_tokens, 260);
      const record = await billedCall(gateway, customer);
      assert.equal(record["input_tokens"], 260);
    });

    it("reported beside the provider's input, they are added to it", async () => {
      const customer = await customerWith(gateway);
      const answer = await chat(customer, {}, { model: "MiniMax-M3" });
      assert.equal(answer.headers.get("x-svc-input-tokens"), "400");
      const record = await billedCall(gateway, customer);
      assert.equal(record["input_tokens"], 400);
      // (100 + 300 + 20) tokens at 2,400 đ per million.
      assert.equal(record["cost_vnd"], "1.008");
    });
  });

  it("billing rule 5: every price of the catalogue is within its range, and is what a call costs", async () => {
    const customer = await customerWith(gateway);
    for (const [path, body, price] of [
      [paths.messages, bodies.messages(TOKENS, { model: "claude-fable-5-2" }), 55_000],
      [paths.chat, bodies.chat(TOKENS, { model: "svc/glm-4.7-flash" }), 1500],
    ] as const) {
      const { headers } = await post(gateway, path, customer, body);
      assert.equal(headers.get("x-svc-price-vnd-per-mtok"), String(price));
      assert.equal(headers.get("x-svc-cost-vnd"), String((price * 1500) / 1_000_000));
    }
    for (const [path, body, price] of [
      [paths.chat, bodies.chat(TOKENS, { model: "req/gpt-4.1-nano" }), "230"],
      [paths.speech, bodies.speech(), "1350"],
    ] as const) {
      const { headers } = await post(gateway, path, customer, body);
      assert.equal(headers.get("x-svc-price-vnd-per-request"), price);
      assert.equal(headers.get("x-svc-cost-vnd"), price);
    }
  });

  describe("billing rule 6: images cost 1,000 đ each, speech 1,350 đ a call", () => {
    it("n images cost n × 1,000 đ", async () => {
      const customer = await customerWith(gateway);
      const answer = await post(gateway, paths.images, customer, bodies.images({}, { n: 3 }));
      assert.equal(answer.json.data.length, 3);
      assert.equal(answer.headers.get("x-svc-cost-vnd"), "3000");
      const record = await billedCall(gateway, customer);
      assert.equal(record["images"], 3);
      await assertBalance(gateway, customer, "97000");
    });

    it("fewer images than were asked for cost what came", async () => {
      const customer = await customerWith(gateway);
      await post(gateway, paths.images, customer, bodies.images({ images: 1 }, { n: 4 }));
      await assertBalance(gateway, customer, "99000");
    });

    it("an edited image costs as much as a new one", async () => {
      const customer = await customerWith(gateway);
      const image = "iVBORw0KGgo=";
      const answer = await post(gateway, paths.edits, customer, bodies.images({}, { image, n: 2 }));
      assert.equal(answer.headers.get("x-svc-cost-vnd"), "2000");
      await assertBalance(gateway, customer, "98000");
    });

    it("speech costs 1,350 đ however much is said", async () => {
      const customer = await customerWith(gateway);
      for (const audio_bytes of [1, 500_000]) {
        const answer = await post(gateway, paths.speech, customer, bodies.speech({ audio_bytes }));
        assert.equal(answer.headers.get("x-svc-cost-vnd"), "1350");
      }
      await assertBalance(gateway, customer, "97300");
      const records = await billedCalls(gateway, customer, 2);
      assert.deepEqual(
        records.map((record) => record["estimated"]),
        [false, false],
      );
    });

    it("n images are refused where the wallet pays for n - 1", async () => {
      const customer = await customerWith(gateway, 2999);
      const three = await post(gateway, paths.images, customer, bodies.images({}, { n: 3 }));
      assert.equal(three.status, 402);
      const two = await post(gateway, paths.images, customer, bodies.images({}, { n: 2 }));
      assert.equal(two.status, 200);
      await assertBalance(gateway, customer, "999");
    });
  });

  it("billing rule 7: there is no minimum fee", async () => {
    const customer = await customerWith(gateway);
    for (const [input_tokens, output_tokens] of [
      [1, 0],
      [0, 1],
      [0, 0],
    ] as const) {
      await chat(customer, { input_tokens, output_tokens, text: "" });
    }
    // One token at 1,500 đ per million is 0.0015 đ; the third call was free.
    await assertBalance(gateway, customer, "99999.997");
  });

  describe("billing rule 8: errors are not charged", () => {
    it("authentication errors", async () => {
      const customer = await customerWith(gateway);
      const wrong = { key: `${customer.key}x` };
      assert.equal((await post(gateway, paths.messages, wrong, bodies.messages())).status, 401);
      assert.equal((await post(gateway, paths.messages, undefined, bodies.messages())).status, 401);
      await assertNotCharged(gateway, customer);
      await billedCalls(gateway, customer, 0);
    });

    it("invalid data", async () => {
      const customer = await customerWith(gateway);
      for (const path of Object.values(paths)) {
        const status = async (body: unknown) => (await post(gateway, path, customer, body)).status;
        assert.equal(await status("{"), 400);
        assert.equal(await status({}), 400);
      }
      await assertNotCharged(gateway, customer);
    });

    it("4xx and 5xx of the provider, on every endpoint, streamed or not", async () => {
      const customer = await customerWith(gateway);
      for (const status of [400, 404, 422, 429, 500, 503]) {
        const expected = status < 500 ? status : 502;
        for (const answer of [
          await messages(customer, { status }),
          await messages(customer, { status }, { stream: true }),
          await chat(customer, { status }),
          await chat(customer, { status }, { stream: true }),
          await post(gateway, paths.responses, customer, bodies.responses({ status })),
          await post(gateway, paths.images, customer, bodies.images({ status })),
          await post(gateway, paths.speech, customer, bodies.speech({ status })),
        ]) {
          assert.equal(answer.status, expected);
          assert.equal(answer.headers.get("x-svc-cost-vnd"), null);
        }
      }
      await assertNotCharged(gateway, customer);
    });

    it("a provider that answers nothing, half an answer or nonsense", async () => {
      const customer = await customerWith(gateway);
      for (const directive of [
        { reset: true },
        { cut_after_events: 1 },
        { status: 500, body: "<html>Bad Gateway</html>", content_type: "text/html" },
      ]) {
        assert.equal((await messages(customer, directive)).status, 502);
      }
      await assertNotCharged(gateway, customer);
    });

    it("a stream that breaks off before its first word", async () => {
      const customer = await customerWith(gateway);
      for (const fault of [
        { cut_after_events: 1 },
        { end_after_events: 1 },
        { error_after_events: 1 },
      ]) {
        const answer = await messages(customer, { ...TOKENS, ...fault }, { stream: true });
        assert.equal(eventsOf(answer.text).at(-1).type, "error");
      }
      await assertNotCharged(gateway, customer);
    });
  });

  describe("billing rule 9: a stream is charged when it ends", () => {
    for (const [name, call] of [
      ["Messages", (customer: Customer) => messages(customer, TOKENS, { stream: true })],
      [
        "Chat",
        (customer: Customer) => chat(customer, TOKENS, { stream: true, model: "gpt-5.6-sol" }),
      ],
      [
        "Responses",
        (customer: Customer) =>
          post(
            gateway,
            paths.responses,
            customer,
            bodies.responses(TOKENS, { stream: true, model: "gpt-5.6-sol" }),
          ),
      ],
    ] as const) {
      it(`${name}: exactly the usage that its end reports`, async () => {
        const customer = await customerWith(gateway);
        const answer: Answer = await call(customer);
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("x-svc-cost-vnd"), null);
        const record = await billedCall(gateway, customer);
        assert.equal(record["streamed"], true);
        assert.equal(record["outcome"], "complete");
        assert.equal(record["estimated"], false);
        assert.deepEqual([record["input_tokens"], record["output_tokens"]], [1000, 500]);
        // At 36,000 đ and 38,000 đ per million.
        assert.equal(record["cost_vnd"], name === "Messages" ? "54" : "57");
      });
    }

    it("usage that comes late, or with the last words, counts as well", async () => {
      const customer = await customerWith(gateway);
      await messages(customer, { ...TOKENS, usage: "late" }, { stream: true });
      await chat(customer, { ...TOKENS, usage: "with_finish" }, { stream: true });
      await assertBalance(gateway, customer, "99943.75");
    });

    it("usage in every chunk is not added up, since it is a running total", async () => {
      const customer = await customerWith(gateway);
      await chat(customer, { ...TOKENS, usage: "every_chunk" }, { stream: true });
      const record = await billedCall(gateway, customer);
      assert.deepEqual([record["input_tokens"], record["output_tokens"]], [1000, 500]);
      await assertBalance(gateway, customer, "99997.75");
    });
  });

  describe("billing rule 10: each call is logged with tokens, cost, latency and status", () => {
    const PROMPT = "a prompt that nobody may read";
    const TEXT = "an answer that nobody may read";

    it("in a usage record with every field", async () => {
      const customer = await customerWith(gateway);
      const directive = { ...TOKENS, cache_read_tokens: 600, cache_write_tokens: 100 };
      const answer = await messages(customer, directive, { model: "opus" });
      const record = await billedCall(gateway, customer);
      const { at, latency_ms, first_byte_ms, catalogue_version, ...rest } = record;
      assert.match(String(catalogue_version), /^[0-9a-f]{8}$/);
      assert.deepEqual(rest, {
        call_id: answer.headers.get("x-request-id"),
        model: "claude-opus-5-5",
        input_tokens: 1000,
        output_tokens: 500,
        cost_vnd: "54",
        status: 200,
        key_id: customer.keyId,
        endpoint: "/v1/messages",
        mapped_from: "opus",
        upstream: "anthropic",
        cache_read_tokens: 600,
        cache_write_tokens: 100,
        reasoning_tokens: 0,
        images: 0,
        written_off_vnd: "0",
        discount_bps: 0,
        streamed: false,
        outcome: "complete",
        estimated: false,
        account_id: customer.accountId,
        unit: "mtok",
        unit_price_vnd: "36000",
        quantity: 1500,
        discounts: null,
        fees_vnd: "0",
        operator_cost: null,
        operator_currency: null,
        operator_rate_vnd: null,
        costs_version: null,
        limits: null,
      });
      assert.ok(Math.abs(Date.now() - Date.parse(String(at))) < 60_000);
      assert.ok(Number(first_byte_ms) >= 0 && Number(latency_ms) >= Number(first_byte_ms));
    });

    it("in one line of the log with the same fields, and without prompt, answer or key", async () => {
      const customer = await customerWith(gateway);
      const body = bodies.messages({ ...TOKENS, text: TEXT });
      body.messages[0]!.content += PROMPT;
      const answer = await post(gateway, paths.messages, customer, body);
      assert.ok(answer.text.includes(TEXT));
      const lines = await callLines(gateway, answer.headers.get("x-request-id")!);
      assert.equal(lines.length, 1);
      const [line] = lines;
      assert.equal(line.account_id, customer.accountId);
      assert.equal(line.key_id, customer.keyId);
      assert.equal(line.model, "claude-opus-5-5");
      assert.equal(line.input_tokens, 1000);
      assert.equal(line.output_tokens, 500);
      assert.equal(line.cost_vnd, "54");
      assert.equal(line.status, 200);
      assert.equal(typeof line.latency_ms, "number");
      for (const secret of [PROMPT, TEXT, customer.key]) assert.ok(!gateway.logs.includes(secret));
    });

    it("and a refused one in the log too, at no cost", async () => {
      const customer = await customerWith(gateway);
      const answer = await messages(customer, {}, { max_tokens: 0 });
      const id = answer.headers.get("x-request-id")!;
      const [line] = await callLines(gateway, id);
      assert.equal(line.status, 400);
      assert.equal(line.cost_vnd, "0");
    });
  });

  describe("cached tokens are input once", () => {
    const directive = { ...TOKENS, cache_read_tokens: 600, cache_write_tokens: 300 };

    it("Messages reports them beside input_tokens", async () => {
      const customer = await customerWith(gateway);
      for (const stream of [false, true]) {
        const answer = await messages(customer, directive, { stream });
        if (!stream) assert.equal(answer.json.usage.input_tokens, 100);
      }
      for (const record of await billedCalls(gateway, customer, 2)) {
        assert.equal(record["input_tokens"], 1000);
        assert.equal(record["cache_read_tokens"], 600);
        assert.equal(record["cache_write_tokens"], 300);
        assert.equal(record["cost_vnd"], "54");
      }
    });

    it("Chat and Responses report them inside of the input", async () => {
      const customer = await customerWith(gateway);
      for (const stream of [false, true]) {
        await chat(customer, directive, { stream });
        await post(gateway, paths.responses, customer, bodies.responses(directive, { stream }));
      }
      for (const record of await billedCalls(gateway, customer, 4)) {
        assert.equal(record["input_tokens"], 1000);
        assert.equal(record["cache_read_tokens"], 600);
        assert.equal(record["cost_vnd"], "2.25");
      }
    });
  });

  describe("a discount in basis points is applied once, rounded half up to the µđ", () => {
    for (const [bps, input, cost] of [
      [100, 1000, "1.485"],
      [200, 1000, "1.47"],
      // 1,500 µđ less 1.11%: 1,483.35. Less 1%: 1,485. Less 3.7%: 1,444.5, half up.
      [111, 1, "0.001483"],
      [100, 1, "0.001485"],
      [370, 1, "0.001445"],
      [10_000, 1000, "0"],
    ] as const) {
      it(`${input} tokens at 1,500 đ less ${bps / 100}% cost ${cost} đ`, async () => {
        const customer = await customerWith(gateway);
        await setDiscount(gateway, customer.accountId, bps);
        const answer = await chat(customer, { input_tokens: input, output_tokens: 0, text: "" });
        assert.equal(answer.headers.get("x-svc-cost-vnd"), cost);
        const record = await billedCall(gateway, customer);
        assert.equal(record["cost_vnd"], cost);
        assert.equal(record["discount_bps"], bps);
      });
    }

    it("of prices per call and per image too", async () => {
      const customer = await customerWith(gateway);
      await setDiscount(gateway, customer.accountId, 200);
      await chat(customer, TOKENS, { model: "req/gpt-4.1-nano" });
      await post(gateway, paths.images, customer, bodies.images({}, { n: 2 }));
      await post(gateway, paths.speech, customer, bodies.speech());
      // 225.4 đ, 1,960 đ and 1,323 đ.
      await assertBalance(gateway, customer, "96491.6");
    });
  });

  describe("usage", () => {
    it("that the provider leaves out is counted here and marked as estimated", async () => {
      const customer = await customerWith(gateway);
      // 42 letters at 4.2 bytes a token.
      const directive: Directive = { text: "x".repeat(42), usage: "missing" };
      for (const stream of [false, true]) {
        await messages(customer, directive, { stream });
        await chat(customer, directive, { stream });
        await post(gateway, paths.responses, customer, bodies.responses(directive, { stream }));
      }
      const records = await billedCalls(gateway, customer, 6);
      for (const record of records) {
        assert.equal(record["estimated"], true);
        assert.equal(record["output_tokens"], 10);
        // The prompt has some 90 letters; 15 to 60 tokens are a fair estimate.
        const input = Number(record["input_tokens"]);
        assert.ok(input >= 15 && input <= 60, `${input}`);
        const price = record["endpoint"] === "/v1/messages" ? 36_000 : 1500;
        assert.equal(record["cost_vnd"], vnd(BigInt((input + 10) * price)));
      }
    });

    it("of zero is a zero: the call costs nothing and is not estimated", async () => {
      const customer = await customerWith(gateway);
      for (const stream of [false, true]) {
        await messages(customer, { text: "hello", usage: "zero" }, { stream });
        await chat(customer, { text: "hello", usage: "zero" }, { stream });
      }
      await assertNotCharged(gateway, customer);
      for (const record of await billedCalls(gateway, customer, 4)) {
        assert.equal(record["estimated"], false);
        assert.equal(record["output_tokens"], 0);
      }
    });
  });

  it("prices are those of the moment of the call, also for a name that was mapped", async () => {
    const customer = await customerWith(gateway);
    const answer = await messages(customer, TOKENS, { model: "haiku" });
    assert.equal(answer.headers.get("x-svc-model"), "claude-haiku-5-5");
    await assertBalance(gateway, customer, "99995.5");
  });

  it("books agree after all of this", async () => {
    const { body } = await admin(gateway, "GET", "/reconcile");
    assert.deepEqual(body["rows"], []);
    assert.equal(body["drift"], false);
  });
});

/** The lines about one call in the gateway's log, once there are any. */
// biome-ignore lint/suspicious/noExplicitAny: a log line has many fields
async function callLines(gateway: TestGateway, id: string): Promise<any[]> {
  let lines: string[] = [];
  await until("the call is logged", () => {
    lines = gateway.logs.split("\n").filter((line) => line.includes(id));
    return lines.length > 0;
  });
  return lines.map((line) => JSON.parse(line));
}

function vnd(micro: bigint): string {
  const fraction = (micro % 1_000_000n).toString().padStart(6, "0").replace(/0+$/, "");
  return `${micro / 1_000_000n}${fraction === "" ? "" : `.${fraction}`}`;
}
