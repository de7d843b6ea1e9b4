import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import t from "tap";
import { connect } from "../../core/database/client.ts";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { recordedLog } from "../support/log.ts";
import { beginStream, untilServed } from "../support/outage.ts";
import { type Production, startProduction } from "../support/production.ts";
import { assertReconciled, microVnd, noCallsInFlight, recordedCosts } from "../support/proof.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/chat/completions";
/** Priced per call, so its hold equals its cost. */
const BODY = bodyOf(PATH, { output_tokens: 20 }, { model: "req/gpt-5.6-sol", stream: false });
const PRICE_VND = 1_150;
const CREDIT_VND = 10_000_000;
const SQL = { statementTimeoutMs: 60_000, log: recordedLog().log };
const SPENT = "402 key_budget_exceeded";

t.test("a budget of a key, on two gateways with one Redis and one Postgres", async (t) => {
  let parts: Production;
  t.before(async () => {
    parts = await startProduction();
  });
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

  /** Changes reach the other gateway within seconds. */
  async function untilRefused(customer: Customer, turn: number, end: string) {
    await until(end, async () => (await call(customer, turn)) === end);
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

  t.test("of a member, over three keys, serves exactly 7 of 500 calls at once", async (t) => {
    const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
    const [member, other] = [randomUUID(), randomUUID()];
    const keys: Customer[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const path = `/accounts/${customer.accountId}/keys`;
      const { body } = await admin(gatewayOf(turn), "POST", path, { name: `key ${turn}` });
      keys.push({ ...customer, keyId: String(body["id"]), key: String(body["key"]) });
    }
    const sql = connect({ server: { url: parts.postgres.url }, connectionsMax: 1, ...SQL });
    const limits = { day_vnd: String(8 * PRICE_VND - 1), month_vnd: String(CREDIT_VND) };
    for (const [id, used] of [
      [member, keys.slice(0, 3)],
      [other, keys.slice(3)],
    ] as const) {
      const person = await createCustomer(gatewayOf(0));
      await sql.query(
        `insert into team_members (id, account_id, email, own_account_id, role, limits, invited_at, joined_at)
        values ($1::text::uuid, $2, $1::text, $3, 'member', $4::text::jsonb, now(), now())`,
        [id, customer.accountId, person.accountId, JSON.stringify(limits)],
      );
      for (const { keyId } of used) {
        await sql.query("update api_keys set member_id = $2 where id = $1", [keyId, id]);
      }
    }
    const calls = Array.from({ length: 500 }, (_, turn) => call(keys[turn % 3]!, turn));
    const ends = await Promise.all(calls);
    const count = (end: string) => ends.filter((one) => one === end).length;
    t.strictSame([count("200"), count("402 member_budget_exceeded")], [7, 493]);
    for (const gateway of parts.gateways) await noCallsInFlight(gateway);
    t.equal(await recordedCosts(gatewayOf(0), customer.accountId), micro(7 * PRICE_VND));
    await untilCommitted(customer);
    const purses =
      "select name, charged::text from purses where account_id = $1 order by name desc";
    const charged = String(7 * PRICE_VND * 1_000_000);
    const rows = await sql.query<{ name: string; charged: string }>(purses, [customer.accountId]);
    t.strictSame(
      rows.map((row) => [row.name.slice(0, 43), row.charged]),
      [
        [`member:${member}`, charged],
        [`member:${member}`, charged],
      ],
    );
    await sql.end(1);
    t.equal(await call(keys[3]!, 1), "200", "another member has a budget of his own");
    await assertReconciled(gatewayOf(1));
  });

  t.test("is another one for each key, and the wallet still counts", async (t) => {
    const customer = await createCustomer(gatewayOf(0), { creditVnd: 2 * PRICE_VND });
    const path = `/accounts/${customer.accountId}/keys`;
    const limits = { total_vnd: PRICE_VND };
    const { body } = await admin(gatewayOf(0), "POST", path, { name: "another", limits });
    const another = { ...customer, keyId: String(body["id"]), key: String(body["key"]) };
    t.strictSame([await call(another, 1), await call(another, 0)], ["200", SPENT]);
    t.equal(await call(customer, 1), "200");
    t.equal(await call(customer, 0), "402 insufficient_balance");
  });

  t.test("and all other limits reach the other gateway, a pause at once", async (t) => {
    const customer = await createCustomer(gatewayOf(0), { creditVnd: CREDIT_VND });
    for (const turn of [0, 1]) t.equal(await call(customer, turn), "200");
    await limit(customer, 0, { paused: true });
    t.equal(await call(customer, 1), "403 key_paused");
    await limit(customer, 0, { paused: false });
    await untilRefused(customer, 1, "200");
    await limit(customer, 0, { total_vnd: PRICE_VND });
    await untilRefused(customer, 1, SPENT);
    await limit(customer, 0, { models: ["gpt-4.1-nano"] });
    await untilRefused(customer, 1, "403 model_not_allowed");
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
