import t from "tap";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { committedWallet, createCustomer, credit, wallet } from "../support/admin.ts";
import { assertBalance, assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { startGateway } from "../support/gateway.ts";
import type { Directive } from "../support/provider/directive.ts";
import {
  bodies,
  deliveredText,
  eventsOf,
  get,
  openStream,
  paths,
  post,
} from "../support/requests.ts";
import { until } from "../support/until.ts";

/** 3,000 µđ a token; the chat model of the other bodies costs 1,500. */
const MESSAGES = "claude-haiku-5-5";
/** Without hidden reasoning, a stream is held a slice at a time. */
const QUIET = { model: MESSAGES, thinking: { type: "disabled" }, stream: true };

/** Far more than the buffers between a provider and its client hold. */
const ENDLESS: Directive = { output_tokens: 60_000, event_delay_ms: 0 };

t.test("wallets and running calls", async (t) => {
  const gateway = await startGateway({ ledger: "embedded" });
  t.teardown(() => gateway.close());
  const tally = async (path: string) => (await gateway.simulator.stats())[path]!;

  t.test("an empty wallet", async (t) => {
    t.test("gets 402 with the address for top-ups, in each protocol's shape", async (t) => {
      const customer = await customerWith(gateway, "0.000001");
      const answer = await post(gateway, paths.messages, customer, bodies.messages());
      t.equal(answer.status, 402);
      const { message } = answer.json.error;
      t.match(message, /balance does not cover this call\. Top up at http:\/\/\S+/);
      t.strictSame(Object.keys(answer.json), ["type", "error", "request_id"]);
      t.strictSame(answer.json.error, { type: "insufficient_balance", message });
      const chat = await post(gateway, paths.chat, customer, bodies.chat());
      t.equal(chat.status, 402);
      t.strictSame(chat.json, {
        error: {
          message,
          type: "insufficient_balance",
          param: null,
          code: "insufficient_balance",
        },
      });
    });

    t.test("can still list the models", async (t) => {
      const customer = await customerWith(gateway, "0.000001");
      t.equal((await get(gateway, "/v1/models", customer)).status, 200);
    });

    t.test("is served again right after a top-up, with the same key", async (t) => {
      const customer = await customerWith(gateway, "0.000001");
      const call = () =>
        post(gateway, paths.chat, customer, bodies.chat({ input_tokens: 1, output_tokens: 1 }));
      t.equal((await call()).status, 402);
      await credit(gateway, customer.accountId, 50_000);
      t.equal((await call()).status, 200);
      await assertBalance(gateway, customer, "49999.997001");
    });

    t.test("that never had money gets 402 as well", async (t) => {
      const customer = await createCustomer(gateway);
      t.equal((await post(gateway, paths.chat, customer, bodies.chat())).status, 402);
      await assertBalance(gateway, customer, "0");
    });
  });

  t.test("a wallet with money for a part of the output", async (t) => {
    const echoed = (text: string) => JSON.parse(text).body;

    t.test("lowers max_tokens upstream to what it affords (Messages)", async (t) => {
      // 1,000 tokens at 3,000 µđ.
      const customer = await customerWith(gateway, 3);
      const body = bodies.messages(
        { echo: true, input_tokens: 50, output_tokens: 7 },
        { model: MESSAGES, max_tokens: 100_000 },
      );
      const answer = await post(gateway, paths.messages, customer, body);
      t.equal(answer.status, 200);
      const { max_tokens } = echoed(answer.json.content[0].text);
      t.ok(max_tokens >= 800 && max_tokens < 1000, `${max_tokens}`);
      await assertBalance(gateway, customer, "2.8290");
    });

    t.test(
      "lowers the field that the upstream knows, or adds it if the caller set none (Chat)",
      async (t) => {
        for (const [limit, name] of [
          [{ max_tokens: 30_000 }, "max_completion_tokens"],
          [{ max_completion_tokens: 30_000 }, "max_completion_tokens"],
          [{}, "max_completion_tokens"],
        ] as const) {
          const customer = await customerWith(gateway, "1.5");
          const body = bodies.chat({ echo: true, input_tokens: 50, output_tokens: 7 }, limit);
          const answer = await post(gateway, paths.chat, customer, body);
          const sent = echoed(answer.json.choices[0].message.content);
          t.ok(sent[name] >= 800 && sent[name] < 1000, JSON.stringify(sent));
          const names = Object.keys(sent).filter((key) => /^max_/.test(key));
          t.strictSame(names, [name]);
        }
      },
    );

    t.test("lowers it on Responses, and in a stream", async (t) => {
      const customer = await customerWith(gateway, "1.5");
      const directive = { echo: true, input_tokens: 50, output_tokens: 7 };
      const answer = await post(gateway, paths.responses, customer, bodies.responses(directive));
      const [{ content }] = answer.json.output;
      t.ok(echoed(content[0].text).max_output_tokens < 1000);
      const body = bodies.chat(directive, { stream: true });
      const stream = await post(gateway, paths.chat, customer, body);
      t.ok(echoed(deliveredText(stream.text)).max_completion_tokens < 1000);
    });

    t.test("does not raise a limit that it affords", async (t) => {
      const customer = await customerWith(gateway);
      const body = bodies.messages({ echo: true }, { max_tokens: 17 });
      const answer = await post(gateway, paths.messages, customer, body);
      t.equal(echoed(answer.json.content[0].text).max_tokens, 17);
    });

    t.test("keeps a thinking budget below the lowered limit, or leaves thinking out", async (t) => {
      for (const [vnd, thinks] of [
        [27, true],
        [6, false],
      ] as const) {
        const customer = await customerWith(gateway, vnd);
        const body = bodies.messages(
          { echo: true, input_tokens: 50, output_tokens: 7 },
          {
            model: "claude-haiku-4-5",
            max_tokens: 64_000,
            thinking: { type: "enabled", budget_tokens: 32_000 },
          },
        );
        const answer = await post(gateway, paths.messages, customer, body);
        const { max_tokens, thinking } = echoed(answer.json.content[0].text);
        if (thinks) t.equal(thinking.budget_tokens, max_tokens - 1);
        else t.equal(thinking, undefined);
      }
    });

    t.test("gets 402 if it does not cover the input and one token", async (t) => {
      const customer = await customerWith(gateway, "0.015");
      const answer = await post(gateway, paths.chat, customer, bodies.chat());
      t.equal(answer.status, 402);
      await assertBalance(gateway, customer, "0.015");
    });

    t.test("holds for each of n choices, so that none of them is free", async (t) => {
      const customer = await customerWith(gateway);
      const stream = await openStream(
        gateway,
        paths.chat,
        customer,
        bodies.chat(
          { text: "hello", delay_ms: 600_000, until: "choices" },
          { stream: false, n: 8, max_tokens: 10_000 },
        ),
      );
      await until("money is held", async () => {
        return (await wallet(gateway, customer.accountId)).held !== "0";
      });
      // 8 × 10,000 tokens at 1,500 µđ, and some input.
      const { held } = await wallet(gateway, customer.accountId);
      t.ok(Number(held) > 120 && Number(held) < 121, held);
      await gateway.simulator.release("choices");
      await stream.rest();
      t.not((await billedCall(gateway, customer))["cost_vnd"], "0");
    });

    t.test("lowers the limit of each of n choices to its share", async (t) => {
      const customer = await customerWith(gateway, "1.5");
      const body = bodies.chat(
        { echo: true, input_tokens: 50, output_tokens: 7 },
        { n: 4, max_tokens: 30_000 },
      );
      const answer = await post(gateway, paths.chat, customer, body);
      const { max_completion_tokens: sent } = echoed(answer.json.choices[0].message.content);
      t.ok(sent >= 200 && sent < 250, `${sent}`);
    });
  });

  t.test("a stream whose wallet runs out", async (t) => {
    t.test(
      "ends with an error event of the Messages protocol and costs what was delivered",
      async (t) => {
        // 2,500 tokens: two slices and a half.
        const customer = await customerWith(gateway, "7.5");
        const before = await tally(paths.messages);
        const answer = await post(
          gateway,
          paths.messages,
          customer,
          bodies.messages(ENDLESS, { ...QUIET, max_tokens: 100_000 }),
        );
        t.equal(answer.status, 200);
        const last = eventsOf(answer.text).at(-1);
        t.equal(last.type, "error");
        t.equal(last.error.type, "insufficient_balance");
        t.match(last.error.message, /Top up at/);
        t.match(answer.text, /\nevent: error\ndata: [^\n]+\n\n$/);
        const tokens = Math.ceil(deliveredText(answer.text).length / 4.2);
        t.ok(tokens > 2000 && tokens <= 2500, `${tokens}`);
        const record = await billedCall(gateway, customer);
        t.equal(record["outcome"], "exhausted");
        t.equal(record["status"], 200);
        t.equal(record["estimated"], true);
        t.equal(record["output_tokens"], tokens);
        t.equal(record["written_off_vnd"], "0");
        const cost = (Number(record["input_tokens"]) + tokens) * 3000;
        t.equal(record["cost_vnd"], formatVnd(cost));
        await assertBalance(gateway, customer, formatVnd(7_500_000 - cost));
        await until("the upstream is cancelled", async () => {
          return (await tally(paths.messages))["aborted"] === before["aborted"]! + 1;
        });
      },
    );

    t.test("ends with an error of the Chat protocol, and without [DONE]", async (t) => {
      const customer = await customerWith(gateway, "3.75");
      const answer = await post(
        gateway,
        paths.chat,
        customer,
        bodies.chat(ENDLESS, { stream: true }),
      );
      const events = eventsOf(answer.text);
      const { error } = events.at(-1);
      t.equal(error.type, "insufficient_balance");
      t.equal(error.code, "insufficient_balance");
      t.ok(!events.includes("[DONE]"));
      const tokens = Math.ceil(deliveredText(answer.text).length / 4.2);
      const record = await billedCall(gateway, customer);
      t.equal(record["outcome"], "exhausted");
      t.equal(record["output_tokens"], tokens);
      const cost = (Number(record["input_tokens"]) + tokens) * 1500;
      t.equal(record["cost_vnd"], formatVnd(cost));
    });

    t.test(
      "ends with both events of the Responses protocol, after which no agent tries again",
      async (t) => {
        const customer = await customerWith(gateway, "3.75");
        const answer = await post(
          gateway,
          paths.responses,
          customer,
          bodies.responses(ENDLESS, { stream: true }),
        );
        const [error, last] = eventsOf(answer.text).slice(-2);
        t.match(error, { type: "error", code: "insufficient_balance" });
        const failed = { status: "failed", error: { code: "insufficient_quota" } };
        t.match(last, { type: "response.failed", response: failed });
        t.equal((await billedCall(gateway, customer))["outcome"], "exhausted");
      },
    );

    t.test("continues if a top-up comes in time", async (t) => {
      const customer = await customerWith(gateway, "3.75");
      const body = bodies.chat(
        // The stream pauses in the second slice, long before the wallet is empty, until the top-up.
        { output_tokens: 5000, silent_ms: 600_000, silent_after_events: 1500, until: "top-up" },
        { stream: true },
      );
      const stream = await openStream(gateway, paths.chat, customer, body);
      await credit(gateway, customer.accountId, 50_000);
      await gateway.simulator.release("top-up");
      const text = await stream.rest();
      t.ok(text.endsWith("data: [DONE]\n\n"));
      const record = await billedCall(gateway, customer);
      t.equal(record["outcome"], "complete");
      t.equal(record["output_tokens"], 5000);
    });
  });

  t.test(
    "a long stream extends its hold a slice at a time, and many fit into one wallet",
    async (t) => {
      const customer = await customerWith(gateway);
      const held = async () => Number((await wallet(gateway, customer.accountId)).held);
      const open = (silent_after_events: number, max_tokens = 100_000) =>
        openStream(
          gateway,
          paths.messages,
          customer,
          bodies.messages(
            { output_tokens: 50_000, silent_ms: 600_000, silent_after_events },
            { ...QUIET, max_tokens },
          ),
        );
      // One event a token, two of them before the text: at the pause 4,000 tokens have arrived.
      const stream = await open(4002);
      await stream.until((text) => deliveredText(text).length === 16_000);
      const delivered = Math.ceil(16_000 / 4.2);
      // The input, and between half a slice and one and a half slices ahead of what was delivered.
      const tokens = (await held()) / 0.003;
      if (tokens === 0) t.fail(`the call is over: ${(await stream.rest()).slice(-500)}`);
      t.ok(tokens > delivered + 512 && tokens < delivered + 1700, `${tokens}`);
      // A short call holds no more than its max_tokens.
      const short = await open(2, 100);
      await until("the short call has its hold", async () => (await held()) / 0.003 > tokens);
      const both = (await held()) / 0.003;
      t.ok(both > tokens + 100 && both < tokens + 300, `${both - tokens}`);
      short.leave();
      stream.leave();
      await committedWallet(gateway, customer.accountId);
    },
  );

  t.test("a stream with several extensions is charged exactly once after its end", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.messages(
      { input_tokens: 1000, output_tokens: 9000 },
      { model: MESSAGES, max_tokens: 20_000, stream: true },
    );
    const answer = await post(gateway, paths.messages, customer, body);
    t.ok(answer.text.includes("message_stop"));
    await assertBalance(gateway, customer, "99970");
  });

  t.test(
    "a cost above the hold takes the available balance, and the rest is written off",
    async (t) => {
      const customer = await customerWith(gateway, "1.5");
      const body = bodies.chat({ input_tokens: 1000, output_tokens: 500, ignore_max_tokens: true });
      const answer = await post(gateway, paths.chat, customer, body);
      t.equal(answer.status, 200);
      t.equal(answer.headers.get("x-svc-cost-vnd"), "1.5");
      const record = await billedCall(gateway, customer);
      t.equal(record["cost_vnd"], "1.5");
      t.equal(record["written_off_vnd"], "0.75");
      await assertBalance(gateway, customer, "0");
    },
  );

  t.test("a client that disconnects", async (t) => {
    t.test("before a stream begins pays its input, and the upstream is cancelled", async (t) => {
      for (const [path, body] of [
        [paths.messages, bodies.messages({ hang: true }, { stream: true })],
        [paths.chat, bodies.chat({ hang: true }, { stream: true })],
      ] as const) {
        const customer = await customerWith(gateway);
        const before = await tally(path);
        const stream = await openStream(gateway, path, customer, body);
        await until("the upstream is called", async () => {
          return (await tally(path))["calls"] === before["calls"]! + 1;
        });
        stream.leave();
        await until("the upstream is cancelled", async () => {
          return (await tally(path))["aborted"] === before["aborted"]! + 1;
        });
        const record = await billedCall(gateway, customer);
        t.match(record, { outcome: "gone", output_tokens: 0, estimated: true });
        t.ok(Number(record["input_tokens"]) > 0);
        const cost = Number(record["cost_vnd"]);
        t.ok(cost > 0 && cost < 10, `${cost} đ`);
      }
    });

    t.test("after the first byte pays the input and what was delivered", async (t) => {
      const customer = await customerWith(gateway);
      const before = await tally(paths.messages);
      const stream = await openStream(
        gateway,
        paths.messages,
        customer,
        bodies.messages(
          { output_tokens: 1000, input_tokens: 200, silent_ms: 600_000, silent_after_events: 212 },
          { model: MESSAGES, stream: true },
        ),
      );
      await stream.until((text) => deliveredText(text).length === 840);
      stream.leave();
      await until("the upstream is cancelled", async () => {
        return (await tally(paths.messages))["aborted"] === before["aborted"]! + 1;
      });
      const record = await billedCall(gateway, customer);
      t.equal(record["outcome"], "gone");
      t.equal(record["estimated"], true);
      t.strictSame([record["input_tokens"], record["output_tokens"]], [200, 200]);
      await assertBalance(gateway, customer, "99998.8");
    });
  });

  t.test("a price per call is not charged for a stream that the provider breaks off", async () => {
    const customer = await customerWith(gateway);
    const body = bodies.messages(
      { output_tokens: 1000, end_after_events: 100 },
      { model: "req/claude-opus-5-5", stream: true },
    );
    await post(gateway, paths.messages, customer, body);
    await assertNotCharged(gateway, customer);
  });
});
