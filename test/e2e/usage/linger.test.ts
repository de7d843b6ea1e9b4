import t from "tap";
import type { Customer } from "../../support/admin.ts";
import { assertBalance, billedCall, billedCalls, customerWith } from "../../support/billed.ts";
import { startGateway } from "../../support/gateway.ts";
import { callsLeft } from "../../support/proof.ts";
import type { Directive } from "../../support/provider/directive.ts";
import { bodies, get, openStream, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";

type Client = "messages" | "chat" | "responses";

/** 12,000 hidden tokens of reasoning, and text that a client has read before the usage comes. */
const HIDDEN: Directive = {
  text: "The answer is 42. END",
  input_tokens: 40,
  output_tokens: 12_060,
  reasoning_tokens: 12_000,
  ignore_max_tokens: true,
};

/** Models that reason if nothing is asked. */
const REASONING: Readonly<Record<Client, object>> = {
  messages: { model: "claude-opus-5-5", max_tokens: 32_000 },
  chat: { model: "gpt-5.6-sol" },
  responses: { model: "gpt-5.6-sol" },
};

/** A model that reasons only if it is asked to, at 40,000 đ per million tokens. */
const QUIET = { model: "claude-opus-4-8" };

t.test("a client that leaves", async (t) => {
  const gateway = await startGateway({
    plugins: { settle: { linger_seconds: 1, linger_reasoning_seconds: 900 } },
  });
  t.teardown(() => gateway.close());

  const leftAt = async (client: Client, marker: string, directive: Directive, more: object) => {
    const customer = await customerWith(gateway);
    const body = bodies[client](directive, { stream: true, ...more });
    const open = await openStream(gateway, paths[client], customer, body);
    await open.until((text) => text.includes(marker));
    open.leave();
    return billedCall(gateway, customer);
  };

  for (const client of ["messages", "chat", "responses"] as const) {
    t.test(`pays for reasoning that it was not shown: ${client}`, async (t) => {
      // Longer than a call lingers whose output can all be counted.
      const directive = { ...HIDDEN, deltas: 1, silent_ms: 3_000, silent_after_events: 5 };
      const record = await leftAt(client, "END", directive, REASONING[client]);
      t.strictSame([record["input_tokens"], record["output_tokens"]], [40, 12_060]);
      t.equal(record["estimated"], false);
    });
  }

  t.test("pays what is reported in the time that a call lingers", async (t) => {
    const directive = { ...HIDDEN, reasoning_tokens: 0, deltas: 1 };
    const silent = { ...directive, silent_ms: 50, silent_after_events: 2 };
    const record = await leftAt("chat", "END", silent, {});
    t.strictSame([record["input_tokens"], record["output_tokens"]], [40, 12_060]);
  });

  t.test("pays a reported input, and what was delivered, if no report comes in time", async (t) => {
    const directive = { ...HIDDEN, input_tokens: 90_000, deltas: 1, silent_ms: 600_000 };
    const record = await leftAt("messages", "END", { ...directive, silent_after_events: 3 }, QUIET);
    t.strictSame([record["input_tokens"], record["outcome"]], [90_000, "gone"]);
    t.equal(record["output_tokens"], 5);
    t.equal(record["estimated"], true);
  });

  t.test("pays a reported input even if it leaves before any output", async (t) => {
    const directive = { ...HIDDEN, input_tokens: 90_000, silent_ms: 600_000 };
    const customer = await customerWith(gateway);
    // The stream is silent after its first event, which the gateway holds back until something of use follows.
    await leave(
      customer,
      paths.messages,
      1,
      bodies.messages(directive, { stream: true, ...QUIET }),
    );
    const record = await billedCall(gateway, customer);
    // With the first token of the output, which the same event reports.
    t.strictSame([record["input_tokens"], record["output_tokens"]], [90_000, 1]);
    t.equal(record["cost_vnd"], "3600.04");
  });

  /** Sends calls, leaves them once the provider has them, and ends their delays there. */
  const leave = async (customer: Customer, path: string, count: number, body: object) => {
    const calls = async () => (await gateway.simulator.stats())[path]?.["calls"] ?? 0;
    const before = await calls();
    const open = await Promise.all(
      Array.from({ length: count }, () => openStream(gateway, path, customer, body)),
    );
    await until("the provider has the calls", async () => (await calls()) === before + count);
    for (const call of open) call.leave();
  };

  t.test("pays its input if nothing came and nothing was reported", async (t) => {
    const customer = await customerWith(gateway);
    await leave(customer, paths.chat, 1, bodies.chat({ hang: true }, { stream: true }));
    const record = await billedCall(gateway, customer);
    t.ok(Number(record["input_tokens"]) > 0, String(record["input_tokens"]));
    t.strictSame(
      [record["output_tokens"], record["outcome"], record["estimated"], record["status"]],
      [0, "gone", true, 499],
    );
    t.not(record["cost_vnd"], "0");
  });

  t.test("pays all images that the provider makes", async (t) => {
    const customer = await customerWith(gateway);
    const held = { delay_ms: 600_000, until: "images" };
    await leave(customer, paths.images, 5, bodies.images(held, { n: 10 }));
    await callsLeft(gateway, 5);
    await gateway.simulator.release("images");
    const records = await billedCalls(gateway, customer, 5);
    for (const record of records) {
      t.strictSame([record["cost_vnd"], record["outcome"]], ["10000", "left"]);
    }
    await assertBalance(gateway, customer, "50000");
  });

  /** How the gateway explains the cost of a call. */
  const formulaOf = async (customer: Customer, { call_id }: Record<string, unknown>) =>
    (await get(gateway, `/v1/calls/${call_id}`, customer)).json.calculation.formula;

  for (const kind of ["messages", "chat", "responses"] as const) {
    t.test(`pays a long reply that was not streamed: ${kind}`, async (t) => {
      const customer = await customerWith(gateway);
      const long = { ...HIDDEN, reasoning_tokens: 0, delay_ms: 600_000, until: kind };
      const limit = kind === "responses" ? "max_output_tokens" : "max_tokens";
      await leave(customer, paths[kind], 1, bodies[kind](long, { [limit]: 20_000 }));
      await callsLeft(gateway, 1);
      await gateway.simulator.release(kind);
      const record = await billedCall(gateway, customer);
      t.strictSame([record["input_tokens"], record["output_tokens"]], [40, 12_060]);
      t.strictSame(
        [record["outcome"], record["estimated"], record["status"]],
        ["left", false, 200],
      );
      const formula = await formulaOf(customer, record);
      t.match(
        formula,
        /12060 out, all of the reply: the client left, and the provider finished it\)/,
      );
    });
  }

  t.test("pays for speech, and for a price per call", async (t) => {
    const held = { delay_ms: 600_000, until: "speech" };
    const customer = await customerWith(gateway);
    await leave(customer, paths.speech, 1, bodies.speech(held));
    const priced = bodies.messages(held, { model: "req/claude-opus-5-5" });
    await leave(customer, paths.messages, 1, priced);
    await callsLeft(gateway, 2);
    await gateway.simulator.release("speech");
    const records = await billedCalls(gateway, customer, 2);
    t.strictSame(records.map((record) => record["cost_vnd"]).sort(), ["1250", "1350"]);
  });

  t.test("pays for speech that it has begun to hear", async (t) => {
    const customer = await customerWith(gateway);
    const held = { silent_ms: 600_000, silent_after_events: 5, until: "audio" };
    const body = bodies.speech({ audio_bytes: 100_000, ...held });
    const open = await openStream(gateway, paths.speech, customer, body);
    await open.until((text) => text.length > 0);
    open.leave();
    await callsLeft(gateway, 1);
    await gateway.simulator.release("audio");
    const { outcome, cost_vnd } = await billedCall(gateway, customer);
    t.strictSame([outcome, cost_vnd], ["left", "1350"]);
  });

  t.test("pays a price per call if its stream is cancelled", async (t) => {
    const customer = await customerWith(gateway);
    const more = { model: "req/claude-opus-5-5", stream: true };
    await leave(customer, paths.messages, 1, bodies.messages({ hang: true }, more));
    const record = await billedCall(gateway, customer);
    t.strictSame([record["cost_vnd"], record["outcome"]], ["1250", "gone"]);
    const formula = await formulaOf(customer, record);
    t.match(formula, /^1 calls \(until the client left and the call was stopped\) × 1250 đ = /);
  });

  t.test("gets no more made than its wallet pays for", async (t) => {
    const customer = await customerWith(gateway, 25_000);
    const body = bodies.images({ delay_ms: 600_000, until: "wallet" }, { n: 10 });
    await leave(customer, paths.images, 2, body);
    await callsLeft(gateway, 2);
    t.equal((await post(gateway, paths.images, customer, body)).status, 402);
    await gateway.simulator.release("wallet");
    await billedCalls(gateway, customer, 2);
    await assertBalance(gateway, customer, "5000");
    t.equal((await post(gateway, paths.images, customer, body)).status, 402);
  });

  t.test("pays even if the gateway stops", async (t) => {
    const customer = await customerWith(gateway);
    await leave(customer, paths.chat, 1, bodies.chat({ delay_ms: 600_000, until: "stop" }));
    await callsLeft(gateway, 1);
    const stopped = gateway.stop();
    await gateway.simulator.release("stop");
    t.equal(await stopped, 0);
    await gateway.start();
    t.equal((await billedCall(gateway, customer))["outcome"], "left");
  });

  t.test("pays nothing for what the provider refuses", async (t) => {
    const customer = await customerWith(gateway);
    const refused = { delay_ms: 600_000, until: "refused" };
    await leave(customer, paths.images, 1, bodies.images({ ...refused, status: 400 }));
    await leave(customer, paths.chat, 1, bodies.chat({ ...refused, status: 500 }));
    await callsLeft(gateway, 2);
    await gateway.simulator.release("refused");
    const records = await billedCalls(gateway, customer, 2);
    for (const record of records) t.equal(record["cost_vnd"], "0");
    t.strictSame(records.map(({ outcome }) => outcome).sort(), ["broken", "refused"]);
  });

  t.test("is not read for beyond what its call has held", async (t) => {
    const customer = await customerWith(gateway);
    const more = { stream: true, ...REASONING.chat };
    const endless = { total_bytes: 4_000_000_000, event_delay_ms: 1 };
    const open = await openStream(gateway, paths.chat, customer, bodies.chat(endless, more));
    await open.until((text) => text.includes("toll gate"));
    open.leave();
    const record = await billedCall(gateway, customer);
    t.equal(record["outcome"], "gone");
  });
});
