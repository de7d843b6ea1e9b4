import assert from "node:assert/strict";
import t from "tap";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { beginStream, untilServed } from "../support/outage.ts";
import { startProduction } from "../support/production.ts";
import { assertReconciled, microVnd, noCallsInFlight, recordedCosts } from "../support/proof.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/chat/completions";
/** Priced per call, so its hold equals its cost. */
const BODY = bodyOf(PATH, { output_tokens: 20 }, { model: "req/gpt-5.6-sol", stream: false });
const PRICE_VND = 1_150;
const CREDIT_VND = 10_000_000;
const SPENT = "402 key_budget_exceeded";

t.test("a budget of a key, on two gateways with one Redis and one Postgres", async (t) => {
  const parts = await startProduction();
  t.teardown(() => parts.close());
  const gatewayOf = (turn: number) => parts.gateways[turn % parts.gateways.length]!;

  async function call({ key }: Customer, turn: number) {
    const response = await ask(gatewayOf(turn).url, key, PATH, BODY);
    const text = await response.text();
    return response.status === 200 ? "200" : `${response.status} ${JSON.parse(text).error.code}`;
  }

  async function limit({ keyId }: Customer, turn: number, change: object) {
    const path = `/keys/${keyId}/limits`;
    const { status, body } = await admin(gatewayOf(turn), "POST", path, change);
    assert.equal(status, 200);
    return body;
  }

  /** The amount spent of the only budget, as this gateway sees it. */
  async function spentOf(customer: Customer, turn: number) {
    const [budget] = (await limit(customer, turn, { paused: null }))["budgets"] as {
      spent_vnd: string;
    }[];
    return budget?.spent_vnd ?? "";
  }

  async function untilCommitted(customer: Customer) {
    await until("all of it is committed", async () => {
      const path = `/accounts/${customer.accountId}/wallet`;
      const { body } = await admin(gatewayOf(0), "GET", path);
      return body["held_vnd"] === "0" && body["pending_vnd"] === "0";
    });
  }

  t.test("serves exactly 7 of 500 calls at once on a budget for 7", async (t) => {
    const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
    // One đ short of an eighth call. Neither gateway knows the key yet.
    await limit(customer, 0, { day_vnd: 8 * PRICE_VND - 1, month_vnd: CREDIT_VND });
    const calls = Array.from({ length: 500 }, (_, turn) => call(customer, turn));
    const ends = await Promise.all(calls);
    const count = (end: string) => ends.filter((one) => one === end).length;
    t.strictSame([count("200"), count(SPENT)], [7, 493]);
    for (const gateway of parts.gateways) await noCallsInFlight(gateway);
    t.equal(await recordedCosts(gatewayOf(0), customer.accountId), micro(7 * PRICE_VND));
    for (const turn of [0, 1]) t.equal(await spentOf(customer, turn), String(7 * PRICE_VND));
    await limit(customer, 0, { day_vnd: 8 * PRICE_VND });
    t.strictSame([await call(customer, 0), await call(customer, 0)], ["200", SPENT]);
    await assertReconciled(gatewayOf(0));
  });

  t.test("is exact after a kill -9 and a wipe of Redis, and so is the wallet", async (t) => {
    const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
    await limit(customer, 0, { month_vnd: 100_000 });
    for (const turn of [0, 1, 0, 1]) t.equal(await call(customer, turn), "200");
    // A post is in Redis and in the memory of its gateway. Both are lost at once here, so it must be in Postgres.
    await untilCommitted(customer);
    const streams = await Promise.all([0, 1].map((turn) => beginStream(gatewayOf(turn), customer)));
    const calls = Array.from({ length: 40 }, (_, turn) => call(customer, turn).catch(() => "cut"));
    await Promise.all([gatewayOf(0).kill9(), parts.redis.call("FLUSHALL")]);
    await Promise.all(calls);
    await streams[1]?.rest();
    await streams[0]?.rest().catch(() => "cut");
    await gatewayOf(0).start();
    for (const gateway of parts.gateways) await untilServed(gateway, customer);
    await untilCommitted(customer);
    const costs = await recordedCosts(gatewayOf(1), customer.accountId);
    t.ok(costs > micro(4 * PRICE_VND));
    for (const turn of [0, 1]) t.equal(microVnd(await spentOf(customer, turn)), costs);
    const { body } = await admin(gatewayOf(0), "GET", `/accounts/${customer.accountId}/wallet`);
    t.equal(microVnd(body["balance_vnd"]), micro(CREDIT_VND) - costs);
    await assertReconciled(gatewayOf(1));
  });
});

function micro(vnd: number): bigint {
  return BigInt(vnd) * 1_000_000n;
}
