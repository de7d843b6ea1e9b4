import t from "tap";
import { createCustomer } from "../support/admin.ts";
import { startGateway } from "../support/gateway.ts";
import { ledgerSql } from "../support/ledger-sql.ts";
import { callOnce } from "../support/outage.ts";
import { startPostgres } from "../support/postgres.ts";
import { allUsage, assertReconciled } from "../support/proof.ts";
import { startRedisServer } from "../support/redis.ts";

t.test("two gateways with embedded balances do not sell the same money", async (t) => {
  const postgres = await startPostgres();
  const redis = await startRedisServer();
  const stores = { ledger: postgres.url };
  const first = await startGateway({ config: { stores } });
  const customer = await createCustomer(first, { creditVnd: 100 });
  t.equal((await callOnce(first, customer, 0)).status, 200);

  const refused = {
    message: new RegExp(`process ${first.pid} on .* with data folder ${first.data}`),
  };
  await t.rejects(startGateway({ config: { stores } }), refused);
  await t.rejects(startGateway({ config: { stores: { ...stores, hot: redis.url } } }), refused);
  t.equal((await callOnce(first, customer, 1)).status, 200);

  // After a kill, only its journal has what it posted and did not commit.
  await first.kill9();
  await t.rejects(startGateway({ config: { stores } }), refused);
  await first.start();
  t.equal((await callOnce(first, customer, 2)).status, 200);
  t.equal(await first.stop(), 0);

  const second = await startGateway({ config: { stores } });
  t.equal((await callOnce(second, customer, 3)).status, 200);
  await second.close();
  await first.close();
  await redis.stop();
  await postgres.stop();
});

/** Its wallets are loaded in the other gateway by then: a commit would leave them with more than the ledger. */
for (const hot of ["embedded", "Redis"]) {
  t.test(`a gateway that is refused commits none of its calls before: ${hot}`, async (t) => {
    const postgres = await startPostgres();
    t.teardown(() => postgres.stop());
    const redis = await startRedisServer({ settings: ["--appendonly", "yes"] });
    t.teardown(() => redis.stop());
    const config = { stores: { ledger: postgres.url } };
    const own = { stores: { ...config.stores, ...(hot === "Redis" && { hot: redis.url }) } };
    const killed = await startGateway({ config: own, env: { TOLLGATE_FAILPOINT: "commit.read" } });
    t.teardown(() => killed.close());
    const customer = await createCustomer(killed, { creditVnd: 100 });
    await callOnce(killed, customer, 0).catch(() => undefined);
    await killed.ended();
    await ledgerSql(killed, "delete from balances_owner");
    // A start commits the calls of before a restart of Redis, before it serves.
    await redis.kill();
    await redis.start();

    const second = await startGateway({ config });
    t.teardown(() => second.close());
    t.equal((await callOnce(second, customer, 1)).status, 200);
    const refused = new RegExp(`balances of this ledger are kept by process ${second.pid} `);
    await t.rejects(startGateway({ config: own, data: killed.data }), { message: refused });
    await assertReconciled(second);
    t.equal((await allUsage(second, customer.accountId)).length, 1);
  });
}
