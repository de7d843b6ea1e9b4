import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { customerWith } from "../support/billed.ts";
import { startGateway } from "../support/gateway.ts";
import { ledgerSql } from "../support/ledger-sql.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedisServer } from "../support/redis.ts";
import { bodies, paths, post } from "../support/requests.ts";

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
  t.match(gateway.logs, /fault that makes failures worse/);
  const name = new URL(postgres.url).pathname.slice(1);
  await ledgerSql(gateway, `alter database ${name} set synchronous_commit = off`);
  await t.rejects(startGateway({ config: { stores } }), /stores\.ledger: .*synchronous_commit off/);
});

t.test("a user of Redis with the rights that redis.conf names serves calls", async (t) => {
  const file = readFileSync(join(packageRoot, "config/deploy/redis.conf"), "utf8");
  const [, rights = ""] = /^# user tollgate on >PASSWORD (.*)$/m.exec(file) ?? [];
  const redis = await startRedisServer();
  await redis.call("ACL", "SETUSER", "tollgate", "on", ">secret", ...rights.split(" "));
  const hot = redis.url.replace("//", "//tollgate:secret@");
  const gateway = await startGateway({ config: { stores: { hot } } });
  t.teardown(async () => {
    await gateway.close();
    await redis.stop();
  });
  const customer = await customerWith(gateway, "1000");
  t.equal((await post(gateway, paths.chat, customer, bodies.chat())).status, 200);
  const log = String(await redis.call("ACL", "LOG"));
  t.equal(log, "", "no right is missing");
});
