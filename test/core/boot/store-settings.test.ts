import t from "tap";
import { StoreSettings } from "../../../core/boot/store-settings.ts";
import { connect } from "../../../core/database/client.ts";
import { faultsOfPostgres } from "../../../core/money/ledger/settings.ts";
import { RedisClient } from "../../../core/redis/client.ts";
import { faultsOfRedis } from "../../../core/redis/settings.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

t.test("settings of Postgres that make a commit durable", async (t) => {
  const server = await startPostgresServer();
  const open = () =>
    connect({
      server: { url: server.url },
      connectionsMax: 1,
      statementTimeoutMs: 0,
      log: recordedLog().log,
    });
  const operator = open();
  t.teardown(async () => {
    await operator.end(1);
    await server.stop();
  });
  const table: [change: string, faults: string[]][] = [
    ["select 1", []],
    ["alter database postgres set synchronous_commit = local", []],
    ["alter database postgres set synchronous_commit = remote_write", []],
    ["alter database postgres set synchronous_commit = off", ["synchronous_commit breaks"]],
    ["alter database postgres reset all", []],
    ["alter role postgres set synchronous_commit = off", ["synchronous_commit breaks"]],
    ["alter role postgres reset all", []],
    ["alter system set full_page_writes = off", ["full_page_writes weakens"]],
    ["alter system set fsync = off", ["fsync breaks", "full_page_writes weakens"]],
    ["alter system reset all", []],
  ];
  for (const [change, expected] of table) {
    await operator.query(change);
    await operator.query("select pg_reload_conf()");
    let found: string[] = [];
    const isFound = async () => {
      const sql = open();
      const faults = await faultsOfPostgres(sql).finally(() => sql.end(1));
      found = faults.map(({ setting, breaks }) => `${setting} ${breaks ? "breaks" : "weakens"}`);
      return found.join() === expected.join();
    };
    await until(() => `${change}: ${expected}, not ${found}`, isFound);
  }
});

t.test("settings of Redis", async (t) => {
  const server = await startRedisServer({ settings: ["--save", "", "--appendonly", "yes"] });
  const client = new RedisClient(server.url, 1_000);
  await new Promise<void>((resolve) => client.connect(resolve));
  const set = (name: string, value: string) => server.call("CONFIG", "SET", name, value);
  const { log, lines } = recordedLog();
  const settings = new StoreSettings([() => faultsOfRedis(client, "test")], log, 5);
  t.teardown(async () => {
    await settings.stop();
    client.disconnect();
    await server.stop();
  });
  const has = (...expected: string[]) =>
    until(`faults: ${expected}`, () => {
      const found = settings.faults.map(({ setting }) => setting);
      return found.join() === expected.join();
    });

  await set("maxmemory-policy", "volatile-lru");
  await t.rejects(settings.start(), /stores\.hot: .*volatile-lru.*set .* to noeviction/);
  await set("maxmemory-policy", "noeviction");
  await settings.start();
  await has();
  // As a replica with other settings, after a fail-over.
  await set("appendonly", "no");
  await set("maxmemory-policy", "allkeys-lru");
  await has("maxmemory-policy", "appendonly");
  await set("appendonly", "yes");
  await has("maxmemory-policy");
  await set("maxmemory-policy", "noeviction");
  await has();
  const told = lines.map(
    ({ level, reason }) => `${level} ${/\(\S+ \S+\)/.exec(String(reason))?.[0]}`,
  );
  t.strictSame([...new Set(told)].sort(), [
    "40 (appendonly no)",
    "50 (maxmemory-policy allkeys-lru)",
    "50 (maxmemory-policy volatile-lru)",
  ]);
  t.ok(told.length <= 4, "each is logged once while it lasts");
});

t.test("a Redis with a replica", async (t) => {
  const [server, replica] = [await startRedisServer(), await startRedisServer()];
  const client = new RedisClient(server.url, 1_000);
  await new Promise<void>((resolve) => client.connect(resolve));
  t.teardown(async () => {
    client.disconnect();
    await server.stop();
    await replica.stop();
  });
  const found = async () =>
    (await faultsOfRedis(client, "test")).find(({ setting }) => setting.startsWith("min-replicas"));
  t.equal(await found(), undefined);
  await replica.call("REPLICAOF", "127.0.0.1", `${server.port}`);
  await until("it follows", async () => (await found()) !== undefined);
  t.match(await found(), { breaks: true }, "no gateway starts");
  await server.call("CONFIG", "SET", "min-replicas-to-write", "1");
  t.equal(await found(), undefined);
});

t.test("a proxy that leads to several Redis servers is refused", async (t) => {
  let turn = 0;
  const client = {
    isCluster: false,
    run: async () => `run_id:${"ab"[turn++ % 2]}\r\naof_enabled:1\r\n`,
    call: async () => [],
  };
  t.match(await faultsOfRedis(client, "test"), [{ setting: "run_id", breaks: true }]);
});

t.test("a cluster that replaces a node only after leases have ended is refused", async (t) => {
  const faults = async (timeoutMs: string) =>
    faultsOfRedis(
      {
        isCluster: true,
        run: async () => "",
        call: async () => ["cluster-node-timeout", timeoutMs],
      },
      "test",
    );
  const [fault] = await faults("15000");
  t.match(fault, { setting: "cluster-node-timeout", breaks: true });
  t.match(fault?.advice, "cluster-node-timeout 15000");
  t.match(fault?.advice, "`redis-cli -h NODE CONFIG SET cluster-node-timeout 5000`");
  t.match(fault?.advice, "on each node");
  t.strictSame(await faults("5000"), []);
});
