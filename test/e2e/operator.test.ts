import t from "tap";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type Production, startProduction } from "../support/production.ts";
import { type Answer, bodies, get, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

t.test("operator actions, in two gateways on one Redis and one Postgres", async (t) => {
  let production: Production;
  let one: TestGateway;
  let other: TestGateway;
  t.before(async () => {
    production = await startProduction();
    [one, other] = production.gateways as [TestGateway, TestGateway];
  });
  t.teardown(() => production?.close());

  const call = (gateway: TestGateway, caller: Customer): Promise<Answer> =>
    post(gateway, paths.messages, caller, bodies.messages({ output_tokens: 1 }));

  /** A customer whose key and wallet both gateways have cached. */
  async function knownCustomer(): Promise<Customer> {
    const caller = await createCustomer(one, { creditVnd: 1000 });
    for (const gateway of [one, other]) {
      await until("the gateway serves", async () => (await call(gateway, caller)).status === 200);
    }
    return caller;
  }

  t.test("suspends an account in both before the reply is sent, and resumes it", async (t) => {
    const caller = await knownCustomer();
    const path = `/accounts/${caller.accountId}`;
    t.equal((await admin(one, "POST", `${path}/suspend`, { reason: "fraud" })).status, 200);
    for (const gateway of [other, one]) {
      const { status, json } = await call(gateway, caller);
      t.equal(status, 403);
      t.equal(json.error.type, "permission_error");
    }
    // Requests without a cost are refused too, once the other process has polled.
    await until("the list of models is refused", async () => {
      return (await get(other, "/v1/models", caller)).status === 403;
    });
    // Resumed by the other process than the one that suspended it.
    t.equal((await admin(other, "POST", `${path}/resume`, { reason: "paid" })).status, 200);
    t.equal((await call(other, caller)).status, 200);
    await until(
      "the account is served again",
      async () => (await call(one, caller)).status === 200,
    );
  });

  t.test("refuses a revoked key as revoked, not as suspended", async (t) => {
    const caller = await knownCustomer();
    t.equal((await admin(one, "POST", `/keys/${caller.keyId}/revoke`, {})).status, 200);
    t.equal((await call(other, caller)).status, 401);
    const path = `/accounts/${caller.accountId}`;
    await admin(one, "POST", `${path}/suspend`, { reason: "x" });
    await admin(one, "POST", `${path}/resume`, { reason: "x" });
    t.equal((await call(other, caller)).status, 401);
    t.equal((await call(one, caller)).status, 401);
  });

  t.test("pauses a key in both before the reply is sent", async (t) => {
    const caller = await knownCustomer();
    const path = `/keys/${caller.keyId}/limits`;
    t.equal((await admin(one, "POST", path, { paused: true })).status, 200);
    t.match((await call(other, caller)).json.error.message, /key is paused/);
    t.equal((await call(one, caller)).status, 403);
  });

  t.test("limits the calls per minute of a key over both", async (t) => {
    const caller = await createCustomer(one, { creditVnd: 1000 });
    await admin(one, "POST", `/keys/${caller.keyId}/limits`, { calls_per_minute: 6 });
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => call(turn % 2 === 0 ? one : other, caller)),
    );
    const count = (status: number) => replies.filter((reply) => reply.status === status).length;
    // A slow machine may take longer than the ten seconds after which one more call is allowed.
    t.ok(count(200) >= 6 && count(200) <= 8, `${count(200)} were served`);
    t.equal(count(429), 20 - count(200));
  });

  t.test("changes a discount in both within a moment", async (t) => {
    const caller = await knownCustomer();
    const path = `/accounts/${caller.accountId}/discount`;
    t.equal((await admin(one, "POST", path, { discount_bps: 10_000 })).status, 200);
    await until("the other gateway charges nothing", async () => {
      return (await call(other, caller)).headers.get("x-svc-cost-vnd") === "0";
    });
  });

  t.test("switches maintenance on and off in both, and keeps it across a restart", async (t) => {
    const caller = await knownCustomer();
    const message = "back at 15:00";
    await admin(one, "POST", "/maintenance", { enabled: true, message });
    t.equal((await call(one, caller)).status, 503);
    await until("the other gateway refuses", async () => {
      const { status, json } = await call(other, caller);
      return status === 503 && json.error.message === message;
    });
    await other.kill9();
    await other.start();
    t.equal((await call(other, caller)).status, 503);
    await admin(other, "POST", "/maintenance", { enabled: false });
    await until("the first gateway serves", async () => (await call(one, caller)).status === 200);
    t.equal((await call(other, caller)).status, 200);
  });
});
