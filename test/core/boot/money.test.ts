import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Money } from "../../../core/boot/money.ts";
import type { GatewayConfig } from "../../../core/config/load.ts";
import { connect } from "../../../core/database/client.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { createLog } from "../../../core/process/log.ts";
import { recordedLog } from "../../support/log.ts";
import { OWN_STATEMENTS, startPostgres } from "../../support/postgres.ts";
import { startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { folderOf } from "../config/files.ts";

async function dataFolder(t: Test): Promise<string> {
  const data = join(await folderOf(t, {}), "data");
  await mkdir(data);
  return data;
}

function startMoney(ledger: string, hot: string, data: string): Promise<Money> {
  const stores = { ledger, hot, data, connections: 10 };
  const config = { stores, limits: { clockDifferenceMs: 0 } };
  return Money.start(config as GatewayConfig, systemClock, createLog("silent"));
}

/** Starts a Postgres, with a function that resolves once no process but this test is connected to it. */
async function startLedger(t: Test) {
  const postgres = await startPostgres();
  t.teardown(() => postgres.stop());
  const { log } = recordedLog();
  const server = { url: postgres.url };
  const sql = connect({ server, connectionsMax: 1, name: "test", statementTimeoutMs: 0, log });
  t.teardown(() => sql.end(1));
  const connected = `select from ${OWN_STATEMENTS} where application_name like 'tollgate%'`;
  const left = () =>
    until("its connections are closed", async () => (await sql.query(connected)).length === 0);
  return { url: postgres.url, left };
}

t.test("a journal that cannot be opened: the ledger is stopped again", async (t) => {
  const { url, left } = await startLedger(t);
  const data = await dataFolder(t);
  await writeFile(join(data, "journal"), "");
  await t.rejects(startMoney(url, "embedded", data), /journal/);
  await left();
});

t.test("a Redis with the money of another ledger: all is stopped again", async (t) => {
  const redis = await startRedisServer();
  t.teardown(() => redis.stop());
  const [first, second] = [await startLedger(t), await startLedger(t)];
  const money = await startMoney(first.url, redis.url, await dataFolder(t));
  await money.stop();
  await first.left();
  await t.rejects(startMoney(second.url, redis.url, await dataFolder(t)), /money of ledger/);
  await second.left();
});

t.test("a ledger whose balances another gateway has: all is stopped again", async (t) => {
  const redis = await startRedisServer();
  t.teardown(() => redis.stop());
  const { url, left } = await startLedger(t);
  const money = await startMoney(url, "embedded", await dataFolder(t));
  for (const hot of ["embedded", redis.url]) {
    await t.rejects(startMoney(url, hot, await dataFolder(t)), /balances of this ledger are kept/);
  }
  await money.stop();
  await left();
});

t.test("a load that takes longer than its call waits is ended by Postgres", async (t) => {
  const { url } = await startLedger(t);
  const money = await startMoney(url, "embedded", await dataFolder(t));
  t.teardown(() => money.stop());
  await t.rejects(money.stores.loads.query("select pg_sleep(20)"), /statement timeout/);
});
