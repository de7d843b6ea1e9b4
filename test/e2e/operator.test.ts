import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { type Answer, bodies, get, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

describe("an operator's word, in two gateways on one Redis and one Postgres", () => {
  let postgres: TestPostgres;
  let redis: RedisServer;
  let one: TestGateway;
  let other: TestGateway;
  before(async () => {
    postgres = await startPostgres();
    redis = await startRedisServer();
    const config = { stores: { hot: redis.url, ledger: postgres.url } };
    one = await startGateway({ config });
    other = await startGateway({ config, simulator: one.simulator });
  });
  after(async () => {
    await other?.close();
    await one?.close();
    await redis?.stop();
    await postgres?.stop();
  });

  const call = (gateway: TestGateway, caller: Customer): Promise<Answer> =>
    post(gateway, paths.messages, caller, bodies.messages({ output_tokens: 1 }));

  /** A customer whom both gateways know well. */
  async function knownCustomer(): Promise<Customer> {
    const caller = await createCustomer(one, { creditVnd: 1000 });
    for (const gateway of [one, other]) {
      await until("the gateway serves", async () => (await call(gateway, caller)).status === 200);
    }
    return caller;
  }

  it("suspends an account in both before the answer is there, and resumes it", async () => {
    const caller = await knownCustomer();
    const path = `/accounts/${caller.accountId}`;
    assert.equal((await admin(one, "POST", `${path}/suspend`, { reason: "fraud" })).status, 200);
    for (const gateway of [other, one]) {
      const { status, json } = await call(gateway, caller);
      assert.equal(status, 403);
      assert.equal(json.error.type, "permission_error");
    }
    // What needs no money is refused too, as soon as the other one has looked.
    await until("its models are refused", async () => {
      return (await get(other, "/v1/models", caller)).status === 403;
    });
    // Taken back by the other process than the one that suspended it.
    assert.equal((await admin(other, "POST", `${path}/resume`, { reason: "paid" })).status, 200);
    assert.equal((await call(other, caller)).status, 200);
    await until("it is served again", async () => (await call(one, caller)).status === 200);
  });

  it("refuses a revoked key as revoked, not as suspended", async () => {
    const caller = await knownCustomer();
    assert.equal((await admin(one, "POST", `/keys/${caller.keyId}/revoke`, {})).status, 200);
    assert.equal((await call(other, caller)).status, 401);
    const path = `/accounts/${caller.accountId}`;
    await admin(one, "POST", `${path}/suspend`, { reason: "x" });
    await admin(one, "POST", `${path}/resume`, { reason: "x" });
    assert.equal((await call(other, caller)).status, 401);
    assert.equal((await call(one, caller)).status, 401);
  });

  it("changes a discount in both within a moment", async () => {
    const caller = await knownCustomer();
    const path = `/accounts/${caller.accountId}/discount`;
    assert.equal((await admin(one, "POST", path, { discount_bps: 10_000 })).status, 200);
    await until("the other one charges nothing", async () => {
      return (await call(other, caller)).headers.get("x-svc-cost-vnd") === "0";
    });
  });

  it("switches maintenance on and off in both, and keeps it over a restart", async () => {
    const caller = await knownCustomer();
    const message = "back at 15:00";
    await admin(one, "POST", "/maintenance", { enabled: true, message });
    assert.equal((await call(one, caller)).status, 503);
    await until("the other one refuses", async () => {
      const { status, json } = await call(other, caller);
      return status === 503 && json.error.message === message;
    });
    await other.kill9();
    await other.start();
    assert.equal((await call(other, caller)).status, 503);
    await admin(other, "POST", "/maintenance", { enabled: false });
    await until("the first one serves", async () => (await call(one, caller)).status === 200);
    assert.equal((await call(other, caller)).status, 200);
  });
});
