import t from "tap";
import { startGateway } from "../support/gateway.ts";
import { ledgerSql } from "../support/ledger-sql.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedisServer } from "../support/redis.ts";

t.test("a Postgres that confirms what it may lose is refused at the start", async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedisServer()]);
  const stores = { ledger: postgres.url, hot: redis.url };
  const gateway = await startGateway({ config: { stores } });
  t.teardown(async () => {
    await gateway.close();
    await Promise.all([postgres.stop(), redis.stop()]);
  });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  const fault =
    'tollgate_store_setting_fault{store="redis",setting="appendonly",guarantee="weak"} 1';
  t.strictSame(
    metrics.split("\n").filter((line) => line.startsWith("tollgate_store_setting_fault")),
    [fault],
  );
  t.match(gateway.logs, /setting that makes failures worse/);
  const name = new URL(postgres.url).pathname.slice(1);
  await ledgerSql(gateway, `alter database ${name} set synchronous_commit = off`);
  await t.rejects(startGateway({ config: { stores } }), /stores\.ledger: .*synchronous_commit off/);
});
