import t from "tap";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { admin, type Customer } from "../support/admin.ts";
import {
  assertBalance,
  assertNotCharged,
  billedCall,
  billedCalls,
  customerWith,
} from "../support/billed.ts";
import { wholeCatalogueOfTests } from "../support/catalogue.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { setDiscount } from "../support/ledger-sql.ts";
import { startOneReplyUpstream } from "../support/one-reply-upstream.ts";
import type { Directive } from "../support/provider/directive.ts";
import { type Answer, bodies, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

/** 1,000 tokens in, 500 out. */
const TOKENS: Directive = { input_tokens: 1000, output_tokens: 500 };

t.test("billing", async (t) => {
  // A provider that reports image tokens separately from its input, unlike the simulated ones.
  const detached = await startOneReplyUpstream({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "MiniMax-M3",
    choices: [
      { index: 0, message: { role: "assistant", content: "a cat" }, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 20, image_tokens: 300, total_tokens: 420 },
  });
  const gateway = await startGateway({
    config: {
      catalogue: wholeCatalogueOfTests(),
      upstreams: { minimax: { protocols: { chat: detached.url } } },
    },
  });
  t.teardown(async () => {
    await gateway.close();
    await detached.stop();
  });

  const messages = (customer: Customer, directive: Directive, more?: object) =>
    post(gateway, paths.messages, customer, bodies.messages(directive, more));
  const chat = (customer: Customer, directive: Directive, more?: object) =>
    post(gateway, paths.chat, customer, bodies.chat(directive, more));

  t.test("billing rule 1: every call is charged to the wallet balance", async (t) => {
    const customer = await customerWith(gateway);
    // At 36,000 đ per million: 54 đ. At 1,500 đ: 2.25 đ, twice. Then 1,000 đ and 1,350 đ.
    for (const answer of [
      await messages(customer, TOKENS),
      await chat(customer, TOKENS),
      await post(gateway, paths.responses, customer, bodies.responses(TOKENS)),
      await post(gateway, paths.images, customer, bodies.images()),
      await post(gateway, paths.speech, customer, bodies.speech()),
    ]) {
      t.equal(answer.status, 200);
    }
    await assertBalance(gateway, customer, "97591.5");
    t.strictSame(
      (await billedCalls(gateway, customer, 5)).map((record) => record["cost_vnd"]),
      ["1350", "1000", "2.25", "2.25", "54"],
    );
  });

  t.test(
    "billing rule 2: models per token cost (input + output) × price per 1,000,000",
    async (t) => {
      for (const [model, input, output, cost] of [
        // The most and the least expensive models, and a cost that is no whole đ.
        ["claude-fable-5-2", 1_000_000, 1, "55000.055"],
        ["svc/claude-opus-5-5", 1234, 567, "68.4380"],
        ["claude-haiku-5-5", 333, 1, "1.0020"],
      ] as const) {
        t.test(`${input} + ${output} tokens of ${model} cost ${cost} đ`, async (t) => {
          const customer = await customerWith(gateway);
          const directive = { input_tokens: input, output_tokens: output };
          const answer = await messages(customer, directive, { model });
          t.equal(answer.headers.get("x-svc-cost-vnd"), cost);
          const micro = 100_000_000_000n - BigInt(Math.round(Number(cost) * 1_000_000));
          await assertBalance(gateway, customer, formatVnd(micro));
        });
      }

      t.test("1 + 1 tokens of gpt-4.1-nano cost 0.003 đ", async () => {
        const customer = await customerWith(gateway);
        await chat(customer, { input_tokens: 1, output_tokens: 1 });
        await assertBalance(gateway, customer, "99999.997");
      });
    },
  );

  t.test(
    "billing rule 3: models whose ids start with req/ cost a fixed price per call",
    async (t) => {
      const customer = await customerWith(gateway);
      for (const directive of [TOKENS, { input_tokens: 900_000, output_tokens: 4000 }]) {
        const model = { model: "req/claude-opus-5-5" };
        const answer = await messages(customer, directive, model);
        t.equal(answer.headers.get("x-svc-cost-vnd"), "1250");
        t.equal(answer.headers.get("x-svc-price-vnd-per-request"), "1250");
        const streamed = await messages(customer, directive, { ...model, stream: true });
        t.equal(streamed.status, 200);
      }
      await chat(customer, TOKENS, { model: "req/gpt-4.1-nano" });
      // 4 × 1,250 đ and 230 đ.
      await assertBalance(gateway, customer, "94770");
      const [last] = await billedCalls(gateway, customer, 5);
      t.strictSame([last?.["input_tokens"], last?.["output_tokens"]], [1000, 500]);
    },
  );

  t.test("billing rule 4: image tokens are billed as input tokens", async (t) => {
    const content = [
      { type: "text", text: "what is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    ];

    t.test("included in the provider's input, they are not added again", async (t) => {
      const customer = await customerWith(gateway);
      const answer = await chat(customer, {}, { messages: [{ role: "user", content }] });
      // 4 tokens of text and 256 of the image.
      t.equal(answer.json.usage.prompt_tokens, 260);
      const record = await billedCall(gateway, customer);
      t.equal(record["input_tokens"], 260);
    });

    t.test("reported separately from the provider's input, they are added to it", async (t) => {
      const customer = await customerWith(gateway);
      const answer = await chat(customer, {}, { model: "MiniMax-M3" });
      t.equal(answer.headers.get("x-svc-input-tokens"), "400");
      const record = await billedCall(gateway, customer);
      t.equal(record["input_tokens"], 400);
      // (100 + 300 + 20) tokens at 2,400 đ per million.
      t.equal(record["cost_vnd"], "1.0080");
    });
  });

  t.test(
    "billing rule 5: every price of the catalogue is within its range, and is charged",
    async (t) => {
      const customer = await customerWith(gateway);
      for (const [path, body, price] of [
        [paths.messages, bodies.messages(TOKENS, { model: "claude-fable-5-2" }), 55_000],
        [paths.chat, bodies.chat(TOKENS, { model: "svc/glm-4.7-flash" }), 1500],
      ] as const) {
        const { headers } = await post(gateway, path, customer, body);
        t.equal(headers.get("x-svc-price-vnd-per-mtok"), String(price));
        t.equal(headers.get("x-svc-cost-vnd"), formatVnd(price * 1500));
      }
      for (const [path, body, price] of [
        [paths.chat, bodies.chat(TOKENS, { model: "req/gpt-4.1-nano" }), "230"],
        [paths.speech, bodies.speech(), "1350"],
      ] as const) {
        const { headers } = await post(gateway, path, customer, body);
        t.equal(headers.get("x-svc-price-vnd-per-request"), price);
        t.equal(headers.get("x-svc-cost-vnd"), price);
      }
    },
  );

  t.test("billing rule 6: images cost 1,000 đ each, speech 1,350 đ a call", async (t) => {
    t.test("n images cost n × 1,000 đ", async (t) => {
      const customer = await customerWith(gateway);
      const answer = await post(gateway, paths.images, customer, bodies.images({}, { n: 3 }));
      t.equal(answer.json.data.length, 3);
      t.equal(answer.headers.get("x-svc-cost-vnd"), "3000");
      const record = await billedCall(gateway, customer);
      t.equal(record["images"], 3);
      await assertBalance(gateway, customer, "97000");
    });

    t.test("fewer images than requested cost what was delivered", async () => {
      const customer = await customerWith(gateway);
      await post(gateway, paths.images, customer, bodies.images({ images: 1 }, { n: 4 }));
      await assertBalance(gateway, customer, "99000");
    });

    t.test("an edited image costs as much as a new one", async (t) => {
      const customer = await customerWith(gateway);
      const image = "iVBORw0KGgo=";
      const answer = await post(gateway, paths.edits, customer, bodies.images({}, { image, n: 2 }));
      t.equal(answer.headers.get("x-svc-cost-vnd"), "2000");
      await assertBalance(gateway, customer, "98000");
    });

    t.test("speech costs 1,350 đ for any length of text", async (t) => {
      const customer = await customerWith(gateway);
      for (const audio_bytes of [1, 500_000]) {
        const answer = await post(gateway, paths.speech, customer, bodies.speech({ audio_bytes }));
        t.equal(answer.headers.get("x-svc-cost-vnd"), "1350");
      }
      await assertBalance(gateway, customer, "97300");
      const records = await billedCalls(gateway, customer, 2);
      t.strictSame(
        records.map((record) => record["estimated"]),
        [false, false],
      );
    });

    t.test("n images are refused if the wallet only pays for n - 1", async (t) => {
      const customer = await customerWith(gateway, 2999);
      const three = await post(gateway, paths.images, customer, bodies.images({}, { n: 3 }));
      t.equal(three.status, 402);
      const two = await post(gateway, paths.images, customer, bodies.images({}, { n: 2 }));
      t.equal(two.status, 200);
      await assertBalance(gateway, customer, "999");
    });
  });

  t.test("billing rule 7: there is no minimum fee", async () => {
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

  t.test("billing rule 8: errors are not charged", async (t) => {
    t.test("authentication errors", async (t) => {
      const customer = await customerWith(gateway);
      const wrong = { key: `${customer.key}x` };
      t.equal((await post(gateway, paths.messages, wrong, bodies.messages())).status, 401);
      t.equal((await post(gateway, paths.messages, undefined, bodies.messages())).status, 401);
      await assertNotCharged(gateway, customer);
      await billedCalls(gateway, customer, 0);
    });

    t.test("invalid requests", async (t) => {
      const customer = await customerWith(gateway);
      for (const path of Object.values(paths)) {
        const status = async (body: unknown) => (await post(gateway, path, customer, body)).status;
        t.equal(await status("{"), 400);
        t.equal(await status({}), 400);
      }
      await assertNotCharged(gateway, customer);
    });

    t.test("4xx and 5xx of the provider, on every endpoint, streamed or not", async (t) => {
      const customer = await customerWith(gateway);
      for (const status of [400, 404, 422, 429, 500, 503]) {
        // A 404 says that the gateway names a model that the provider lacks, which is no fault of the client.
        const isPassed = status !== 404 && (status < 500 || status === 503);
        const expected = isPassed ? status : 502;
        for (const answer of [
          await messages(customer, { status }),
          await messages(customer, { status }, { stream: true }),
        ]) {
          // An overload has its own status in this protocol.
          t.equal(answer.status, expected === 503 ? 529 : expected);
          t.equal(answer.headers.get("x-svc-cost-vnd"), null);
        }
        for (const answer of [
          await chat(customer, { status }),
          await chat(customer, { status }, { stream: true }),
          await post(gateway, paths.responses, customer, bodies.responses({ status })),
          await post(gateway, paths.images, customer, bodies.images({ status })),
          await post(gateway, paths.speech, customer, bodies.speech({ status })),
        ]) {
          t.equal(answer.status, expected);
          t.equal(answer.headers.get("x-svc-cost-vnd"), null);
        }
      }
      await assertNotCharged(gateway, customer);
    });

    t.test("a provider that sends nothing, half a reply or garbage", async (t) => {
      const customer = await customerWith(gateway);
      for (const directive of [
        { reset: true },
        { cut_after_events: 1 },
        { status: 500, body: "<html>Bad Gateway</html>", content_type: "text/html" },
      ]) {
        t.equal((await messages(customer, directive)).status, 502);
      }
      await assertNotCharged(gateway, customer);
    });

    t.test("a stream that breaks off before its first text", async (t) => {
      const customer = await customerWith(gateway);
      for (const fault of [
        { cut_after_events: 1 },
        { end_after_events: 1 },
        { error_after_events: 1 },
      ]) {
        const answer = await messages(customer, { ...TOKENS, ...fault }, { stream: true });
        t.equal(answer.json.type, "error", answer.text);
      }
      await assertNotCharged(gateway, customer);
    });
  });

  t.test("billing rule 9: a stream is charged when it ends", async (t) => {
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
      t.test(`${name}: exactly the usage that its last event reports`, async (t) => {
        const customer = await customerWith(gateway);
        const answer: Answer = await call(customer);
        t.equal(answer.status, 200);
        t.equal(answer.headers.get("x-svc-cost-vnd"), null);
        const record = await billedCall(gateway, customer);
        t.equal(record["streamed"], true);
        t.equal(record["outcome"], "complete");
        t.equal(record["estimated"], false);
        t.strictSame([record["input_tokens"], record["output_tokens"]], [1000, 500]);
        // At 36,000 đ and 38,000 đ per million.
        t.equal(record["cost_vnd"], name === "Messages" ? "54" : "57");
      });
    }

    t.test("usage that comes late, or with the last text, counts too", async () => {
      const customer = await customerWith(gateway);
      await messages(customer, { ...TOKENS, usage: "late" }, { stream: true });
      await chat(customer, { ...TOKENS, usage: "with_finish" }, { stream: true });
      await assertBalance(gateway, customer, "99943.75");
    });

    t.test("usage in every chunk is a running total, so it is not added up", async (t) => {
      const customer = await customerWith(gateway);
      await chat(customer, { ...TOKENS, usage: "every_chunk" }, { stream: true });
      const record = await billedCall(gateway, customer);
      t.strictSame([record["input_tokens"], record["output_tokens"]], [1000, 500]);
      await assertBalance(gateway, customer, "99997.75");
    });
  });

  t.test(
    "billing rule 10: each call is logged with tokens, cost, latency and status",
    async (t) => {
      const PROMPT = "a prompt that no one may read";
      const TEXT = "an answer that no one may read";

      t.test("in a usage record with every field", async (t) => {
        const customer = await customerWith(gateway);
        const directive = { ...TOKENS, cache_read_tokens: 600, cache_write_tokens: 100 };
        const answer = await messages(customer, directive, { model: "opus" });
        const record = await billedCall(gateway, customer);
        const { at, latency_ms, first_byte_ms, catalogue_version, ...rest } = record;
        t.match(String(catalogue_version), /^[0-9a-f]{8}$/);
        t.strictSame(rest, {
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
          factors: null,
          quantity: 1500,
          discounts: null,
          fees_vnd: "0",
          purses: null,
          provider_cost_vnd: null,
          held_vnd: record["held_vnd"],
        });
        t.ok(Math.abs(Date.now() - Date.parse(String(at))) < 60_000);
        t.ok(Number(first_byte_ms) >= 0 && Number(latency_ms) >= Number(first_byte_ms));
      });

      t.test(
        "in one log line with the same fields, and without prompt, reply or key",
        async (t) => {
          const customer = await customerWith(gateway);
          const body = bodies.messages({ ...TOKENS, text: TEXT });
          body.messages[0]!.content += PROMPT;
          const answer = await post(gateway, paths.messages, customer, body);
          t.ok(answer.text.includes(TEXT));
          const lines = await callLines(gateway, answer.headers.get("x-request-id")!);
          t.equal(lines.length, 1);
          const [line] = lines;
          t.equal(line.account_id, customer.accountId);
          t.equal(line.key_id, customer.keyId);
          t.equal(line.model, "claude-opus-5-5");
          t.equal(line.input_tokens, 1000);
          t.equal(line.output_tokens, 500);
          t.equal(line.cost_vnd, "54");
          t.equal(line.status, 200);
          t.equal(typeof line.latency_ms, "number");
          for (const secret of [PROMPT, TEXT, customer.key]) t.ok(!gateway.logs.includes(secret));
        },
      );

      t.test("and a refused call is logged too, at no cost", async (t) => {
        const customer = await customerWith(gateway);
        const answer = await messages(customer, {}, { max_tokens: -1 });
        const id = answer.headers.get("x-request-id")!;
        const [line] = await callLines(gateway, id);
        t.equal(line.status, 400);
        t.equal(line.cost_vnd, "0");
      });
    },
  );

  t.test("cached tokens count once, as input", async (t) => {
    const directive = { ...TOKENS, cache_read_tokens: 600, cache_write_tokens: 300 };

    t.test("Messages reports them separately from input_tokens", async (t) => {
      const customer = await customerWith(gateway);
      for (const stream of [false, true]) {
        const answer = await messages(customer, directive, { stream });
        if (!stream) t.equal(answer.json.usage.input_tokens, 100);
      }
      for (const record of await billedCalls(gateway, customer, 2)) {
        t.equal(record["input_tokens"], 1000);
        t.equal(record["cache_read_tokens"], 600);
        t.equal(record["cache_write_tokens"], 300);
        t.equal(record["cost_vnd"], "54");
      }
    });

    t.test("Chat and Responses report them as part of the input", async (t) => {
      const customer = await customerWith(gateway);
      for (const stream of [false, true]) {
        await chat(customer, directive, { stream });
        await post(gateway, paths.responses, customer, bodies.responses(directive, { stream }));
      }
      for (const record of await billedCalls(gateway, customer, 4)) {
        t.equal(record["input_tokens"], 1000);
        t.equal(record["cache_read_tokens"], 600);
        t.equal(record["cost_vnd"], "2.25");
      }
    });
  });

  t.test("a discount in basis points is applied once, rounded half up to the µđ", async (t) => {
    for (const [bps, input, cost] of [
      [100, 1000, "1.4850"],
      [200, 1000, "1.47"],
      // 1,500 µđ less 1.11%: 1,483.35. Less 1%: 1,485. Less 3.7%: 1,444.5, half up.
      [111, 1, "0.001483"],
      [100, 1, "0.001485"],
      [370, 1, "0.001445"],
      [10_000, 1000, "0"],
    ] as const) {
      t.test(`${input} tokens at 1,500 đ less ${bps / 100}% cost ${cost} đ`, async (t) => {
        const customer = await customerWith(gateway);
        await setDiscount(gateway, customer.accountId, bps);
        const answer = await chat(customer, { input_tokens: input, output_tokens: 0, text: "" });
        t.equal(answer.headers.get("x-svc-cost-vnd"), cost);
        const record = await billedCall(gateway, customer);
        t.equal(record["cost_vnd"], cost);
        t.equal(record["discount_bps"], bps);
      });
    }

    t.test("also to prices per call and per image", async () => {
      const customer = await customerWith(gateway);
      await setDiscount(gateway, customer.accountId, 200);
      await chat(customer, TOKENS, { model: "req/gpt-4.1-nano" });
      await post(gateway, paths.images, customer, bodies.images({}, { n: 2 }));
      await post(gateway, paths.speech, customer, bodies.speech());
      // 225.4 đ, 1,960 đ and 1,323 đ.
      await assertBalance(gateway, customer, "96491.6");
    });
  });

  t.test("usage", async (t) => {
    t.test(
      "missing from the provider's reply is counted here and marked as estimated",
      async (t) => {
        const customer = await customerWith(gateway);
        // 42 characters at 4.2 bytes a token.
        const directive: Directive = { text: "x".repeat(42), usage: "missing" };
        for (const stream of [false, true]) {
          await messages(customer, directive, { stream });
          await chat(customer, directive, { stream });
          await post(gateway, paths.responses, customer, bodies.responses(directive, { stream }));
        }
        const records = await billedCalls(gateway, customer, 6);
        for (const record of records) {
          t.equal(record["estimated"], true);
          t.equal(record["output_tokens"], 10);
          // The prompt has some 90 characters; an estimate of 15 to 60 tokens is fair.
          const input = Number(record["input_tokens"]);
          t.ok(input >= 15 && input <= 60, `${input}`);
          const price = record["endpoint"] === "/v1/messages" ? 36_000 : 1500;
          t.equal(record["cost_vnd"], formatVnd((input + 10) * price));
        }
      },
    );

    t.test("of zero counts as zero: the call costs nothing and is not estimated", async (t) => {
      const customer = await customerWith(gateway);
      for (const stream of [false, true]) {
        await messages(customer, { text: "hello", usage: "zero" }, { stream });
        await chat(customer, { text: "hello", usage: "zero" }, { stream });
      }
      await assertNotCharged(gateway, customer);
      for (const record of await billedCalls(gateway, customer, 4)) {
        t.equal(record["estimated"], false);
        t.equal(record["output_tokens"], 0);
      }
    });
  });

  t.test("a call costs the price at its start, also for a mapped name", async (t) => {
    const customer = await customerWith(gateway);
    const answer = await messages(customer, TOKENS, { model: "haiku" });
    t.equal(answer.headers.get("x-svc-model"), "claude-haiku-5-5");
    await assertBalance(gateway, customer, "99995.5");
  });

  t.test("the books agree after all of this", async (t) => {
    const { body } = await admin(gateway, "GET", "/reconcile");
    t.strictSame(body["rows"], []);
    t.equal(body["drift"], false);
  });
});

/** The log lines of one call, once there are any. */
// biome-ignore lint/suspicious/noExplicitAny: a log line has many fields
async function callLines(gateway: TestGateway, id: string): Promise<any[]> {
  let lines: string[] = [];
  await until("the call is logged", () => {
    lines = gateway.logs.split("\n").filter((line) => line.includes(id));
    return lines.length > 0;
  });
  return lines.map((line) => JSON.parse(line));
}
