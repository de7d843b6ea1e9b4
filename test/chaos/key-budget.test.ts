import assert from "node:assert/strict";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { beginStream, untilServed } from "../support/outage.ts";
import { type Production, startProduction } from "../support/production.ts";
import { assertReconciled, microVnd, noCallsInFlight, recordedCosts } from "../support/proof.ts";
import { until } from "../support/until.ts";

const PLUGIN = join(packageRoot, "dist/test/e2e/key-budget-plugin.js");
const PATH = "/v1/chat/completions";
/** Priced per call, so its hold equals its cost. */
const BODY = bodyOf(PATH, { output_tokens: 20 }, { model: "req/gpt-5.6-sol", stream: false });
const PRICE_VND = 1_150;
const CREDIT_VND = 10_000_000;

/** The plugin of `key-budget-plugin.ts`, on two gateways with one Redis and one Postgres. */
t.test("a budget per key", async (t) => {
  let parts: Production;
  t.before(async () => {
    const plugins = [
      ...["auth", "alias", "translate", "meter", { [PLUGIN]: { budget_vnd: 2_500 } }, "settle"],
      ...["admin", "metrics"],
    ];
    parts = await startProduction({ config: { plugins } });
  });
  t.teardown(() => parts.close());
  const gatewayOf = (turn: number) => parts.gateways[turn % parts.gateways.length]!;

  async function call({ key }: Customer, turn: number) {
    const response = await ask(gatewayOf(turn).url, key, PATH, BODY);
    const text = await response.text();
    return response.status === 200 ? "200" : `${response.status} ${JSON.parse(text).error.code}`;
  }

  async function budget({ accountId, keyId }: Customer, turn: number) {
    const { status, body } = await admin(gatewayOf(turn), "GET", `/budgets/${accountId}/${keyId}`);
    assert.equal(status, 200);
    return body;
  }

  async function untilCommitted(customer: Customer) {
    await until("all of it is committed", async () => {
      const path = `/accounts/${customer.accountId}/wallet`;
      const { body } = await admin(gatewayOf(0), "GET", path);
      return body["held_vnd"] === "0" && body["pending_vnd"] === "0";
    });
  }

  /** Each gateway has its own: the stores keep only what was spent. */
  async function setBudget({ accountId, keyId }: Customer, amount_vnd: string) {
    for (const gateway of parts.gateways) {
      const { status } = await admin(gateway, "POST", `/budgets/${accountId}/${keyId}`, {
        amount_vnd,
      });
      assert.equal(status, 200);
    }
  }

  t.test(
    "refuses calls with its own name when it is spent, though the wallet has money",
    async (t) => {
      const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
      const path = `/accounts/${customer.accountId}/keys`;
      const { body } = await admin(gatewayOf(0), "POST", path, { name: "another" });
      const another = { ...customer, keyId: String(body["id"]), key: String(body["key"]) };
      const spent = "402 key_budget_exceeded";
      t.strictSame([await call(customer, 0), await call(customer, 1)], ["200", "200"]);
      t.strictSame([await call(customer, 0), await call(customer, 1)], [spent, spent]);
      t.equal(await call(another, 1), "200");
      await setBudget(customer, "3450");
      t.strictSame([await call(customer, 1), await call(customer, 0)], ["200", spent]);
      const poor = await createCustomer(gatewayOf(0), { creditVnd: PRICE_VND });
      t.equal(await call(poor, 0), "200");
      t.equal(await call(poor, 1), "402 insufficient_balance");
    },
  );

  t.test(
    "serves exactly 7 of 200 calls at once on a budget for 7, through both gateways",
    async (t) => {
      const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
      // One µđ short of an eighth call.
      await setBudget(customer, `${8 * PRICE_VND - 1}.999999`);
      const calls = Array.from({ length: 200 }, (_, turn) => call(customer, turn));
      const ends = await Promise.all(calls);
      const count = (end: string) => ends.filter((one) => one === end).length;
      t.strictSame([count("200"), count("402 key_budget_exceeded")], [7, 193]);
      for (const gateway of parts.gateways) await noCallsInFlight(gateway);
      t.equal(await recordedCosts(gatewayOf(0), customer.accountId), micro(7 * PRICE_VND));
      t.equal((await budget(customer, 1))["available_vnd"], `${PRICE_VND - 1}.999999`);
      await assertReconciled(gatewayOf(0));
    },
  );

  t.test("is exact after a kill -9 and a wipe of Redis, and so is the wallet", async (t) => {
    const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
    await setBudget(customer, "100000");
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
    await setBudget(customer, "100000");
    for (const gateway of parts.gateways) await untilServed(gateway, customer);
    await untilCommitted(customer);
    const costs = await recordedCosts(gatewayOf(1), customer.accountId);
    t.ok(costs > micro(4 * PRICE_VND));
    t.equal(microVnd((await budget(customer, 0))["spent_vnd"]), costs);
    t.equal(microVnd((await budget(customer, 1))["available_vnd"]), micro(100_000) - costs);
    const { body } = await admin(gatewayOf(0), "GET", `/accounts/${customer.accountId}/wallet`);
    t.equal(microVnd(body["balance_vnd"]), micro(CREDIT_VND) - costs);
    await assertReconciled(gatewayOf(1));
  });
});

function micro(vnd: number): bigint {
  return BigInt(vnd) * 1_000_000n;
}
