import assert from "node:assert/strict";
import t, { type Test } from "tap";
import { epochScript } from "../../../core/money/redis/scripts.ts";
import { RedisAway, RedisClient } from "../../../core/redis/client.ts";
import { startRedisCluster, startRedisServer } from "../../support/redis.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

/** For tests of the timeout itself. */
const SHORT_TIMEOUT_MS = 500;
/** For tests in which nothing may time out on a busy machine. */
const PATIENT_MS = 10_000;
const ECHO = { source: "return ARGV[1]", sha: "098e0f0d1448c0a81dafe820f66d460eb09263da" };

/** Connects a client and disconnects it after the test; a leaked client would retry forever. */
async function connected(
  t: Test,
  servers: string | readonly string[],
  timeoutMs = PATIENT_MS,
): Promise<RedisClient> {
  const client = new RedisClient(servers, timeoutMs);
  t.teardown(() => client.disconnect());
  await new Promise<void>((resolve) => client.connect(resolve));
  return client;
}

/** The connections of ioredis to the nodes of a cluster. */
interface ConnectionPool {
  getInstanceByKey(address: string): object | undefined;
  getSampleInstance(role: string): object | undefined;
}

/** Returns the connection to the node that has a key. */
async function ownerOf(pool: ConnectionPool, client: RedisClient, key: string): Promise<object> {
  const { getInstanceByKey } = pool;
  let owner: object | undefined;
  pool.getInstanceByKey = (address) => {
    owner = getInstanceByKey.call(pool, address);
    return owner;
  };
  await client.call("GET", key);
  pool.getInstanceByKey = getInstanceByKey;
  assert(owner);
  return owner;
}

/** Runs commands of every kind, interleaved, some of them sent while replies to others arrive. */
async function echoes(client: RedisClient): Promise<void> {
  await client.load(ECHO, ["{a}"], ["first"]);
  const one = async (n: number) => {
    const ways = [
      () => client.evalsha(ECHO.sha, ["{a}"], [`${n}`]),
      () => client.call("ECHO", `${n}`),
      () => client.load(ECHO, ["{a}"], [`${n}`]),
      () => client.run(ECHO, ["{a}"], [`${n}`]),
    ];
    for (let way = 0; way < ways.length; way += 1) {
      assert.equal(await ways[(way + n) % ways.length]?.(), `${n}`);
    }
  };
  await Promise.all(Array.from({ length: 500 }, (_, n) => one(n)));
}

/** Returns false if a busy machine let one of the commands time out. A wrong reply fails the test. */
async function echoesInTime(client: RedisClient): Promise<boolean> {
  try {
    await echoes(client);
    return true;
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return false;
  }
}

t.test("every command gets its own reply among concurrent ones", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  const client = await connected(t, server.url);
  await echoes(client);
});

t.test("every command to a cluster gets its own reply too", async (t) => {
  const cluster = await startRedisCluster();
  t.teardown(() => cluster.stop());
  const client = await connected(t, cluster.servers);
  await until("every node is connected", async () => (await touchSlots(client)) === 60);
  await echoes(client);
});

t.test(
  "commands in flight to a frozen server are rejected, and new ones work when it resumes",
  async (t) => {
    const server = await startRedisServer();
    t.teardown(() => server.stop());
    const client = await connected(t, server.url, SHORT_TIMEOUT_MS);
    server.signal("SIGSTOP");
    // It stays frozen until all of them are rejected.
    const sent = Array.from({ length: 50 }, () => client.call("PING"));
    const results = await Promise.allSettled(sent);
    t.ok(results.every((result) => result.status === "rejected"));
    await assert.rejects(client.call("PING"), RedisAway);
    const back = new Promise<void>((resolve) => client.connect(resolve));
    server.signal("SIGCONT");
    await back;
    await until("every command gets its own reply again", () => echoesInTime(client));
  },
);

t.test("the client leaves a demoted server and reconnects to its address", async (t) => {
  const [first, second] = await Promise.all([startRedisServer(), startRedisServer()]);
  const line = await startTcpProxy(first.port);
  t.teardown(() => Promise.all([line.close(), first.stop(), second.stop()]));
  const client = await connected(t, `redis://127.0.0.1:${line.port}`);
  await client.call("SET", "at", "first");
  await first.call("REPLICAOF", "127.0.0.1", String(second.port));
  line.lead(second.port);
  const back = new Promise<void>((resolve) => client.connect(resolve));
  await t.rejects(client.call("SET", "at", "nowhere"), {
    name: "ReplyError",
    message: /^READONLY/,
  });
  await back;
  await client.call("SET", "at", "second");
  t.equal(await second.call("GET", "at"), "second");
});

t.test("a script unknown to the server is loaded on its first use", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  const client = await connected(t, server.url);
  const args = ["look", "p", "0", "0", "0"];
  await t.rejects(client.evalsha(epochScript.sha, ["{a}:epoch"], args), /NOSCRIPT/);
  t.ok(Array.isArray(await client.run(epochScript, ["{a}:epoch"], args)));
  t.ok(Array.isArray(await client.evalsha(epochScript.sha, ["{a}:epoch"], args)));
});

t.test("a stall of this process does not count as a timeout of Redis", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  const client = await connected(t, server.url, SHORT_TIMEOUT_MS);
  const answers = Array.from({ length: 10 }, () => client.call("PING"));
  // Sent by now; the replies arrive during the stall.
  await new Promise(setImmediate);
  const goOnAtMs = performance.now() + 3 * SHORT_TIMEOUT_MS;
  while (performance.now() < goOnAtMs);
  t.strictSame(await Promise.all(answers), Array(10).fill("PONG"));
});

/** One command to each of many slots, all sent in one turn. Returns how many were carried out. */
async function touchSlots(client: RedisClient): Promise<number> {
  const sent = Array.from({ length: 60 }, (_, n) => client.call("INCR", `{tag${n}}:count`));
  const results = await Promise.allSettled(sent);
  return results.filter(({ status }) => status === "fulfilled").length;
}

t.test("no command gets the reply of another after its node has gone", async (t) => {
  const cluster = await startRedisCluster();
  t.teardown(() => cluster.stop());
  const client = await connected(t, cluster.servers, SHORT_TIMEOUT_MS);
  const { connectionPool } = (client as unknown as { client: { connectionPool: ConnectionPool } })
    .client;
  const keys = Array.from({ length: 5 }, (_, at) => `{a}${at}`);
  for (const key of keys) await client.call("SET", key, key);
  // ioredis then sends a command to any node: first to one that is not connected, then to one that is.
  const { getInstanceByKey, getSampleInstance } = connectionPool;
  const owner = await ownerOf(connectionPool, client, "{a}");
  let asked = 0;
  connectionPool.getInstanceByKey = () => undefined;
  connectionPool.getSampleInstance = () => (++asked === 1 ? { status: "connecting" } : owner);
  const during = Promise.allSettled(keys.map((key) => client.call("GET", key)));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  Object.assign(connectionPool, { getInstanceByKey, getSampleInstance });
  for (const key of keys) t.equal(await client.call("GET", key), key);
  for (const [at, result] of (await during).entries()) {
    if (result.status === "fulfilled") t.equal(result.value, keys[at]);
  }
});

t.test("a planned fail-over of a cluster", async (t) => {
  const cluster = await startRedisCluster({ replicas: true });
  t.teardown(() => cluster.stop());
  const client = await connected(t, cluster.servers);
  await until("every slot is served", async () => (await touchSlots(client)) === 60);

  for (const [at, replica] of cluster.replicas.entries()) {
    await t.test(`of primary ${at + 1} leaves no slot unserved`, async () => {
      await replica.call("CLUSTER", "FAILOVER");
      await until("the replica is the primary", async () => {
        await touchSlots(client);
        return `${await replica.call("ROLE")}`.startsWith("master");
      });
      await until("every slot is served again", async () => (await touchSlots(client)) === 60);
    });
  }
});

t.test("a primary of a cluster that is killed is replaced by its replica", async (t) => {
  const cluster = await startRedisCluster({ replicas: true });
  t.teardown(() => cluster.stop());
  const client = await connected(t, cluster.servers);
  await until("every slot is served", async () => (await touchSlots(client)) === 60);
  await cluster.nodes[1]?.kill();
  await until("every slot is served again", async () => (await touchSlots(client)) === 60);
});

t.test("slots that move to another node stay served", async (t) => {
  const cluster = await startRedisCluster();
  t.teardown(() => cluster.stop());
  const client = await connected(t, cluster.servers);
  await until("every slot is served", async () => (await touchSlots(client)) === 60);

  const [from, to] = cluster.nodes;
  if (!from || !to) return t.fail("no nodes");
  const [fromId, toId] = await Promise.all([from, to].map((node) => node.call("CLUSTER", "MYID")));
  const slots = new Set<number>();
  for (let n = 0; n < 60; n++) {
    const slot = Number(await from.call("CLUSTER", "KEYSLOT", `{tag${n}}`));
    if (slot < Math.floor(16_384 / 3)) slots.add(slot);
  }
  t.ok(slots.size > 5);
  for (const slot of slots) {
    await to.call("CLUSTER", "SETSLOT", `${slot}`, "IMPORTING", String(fromId));
    await from.call("CLUSTER", "SETSLOT", `${slot}`, "MIGRATING", String(toId));
    const keys = await from.call("CLUSTER", "GETKEYSINSLOT", `${slot}`, "100");
    for (const key of Array.isArray(keys) ? keys.map(String) : []) {
      await from.call("MIGRATE", "127.0.0.1", `${to.port}`, key, "0", "5000");
    }
    await touchSlots(client);
    for (const node of [to, from]) {
      await node.call("CLUSTER", "SETSLOT", `${slot}`, "NODE", String(toId));
    }
  }
  await until("every slot is served again", async () => (await touchSlots(client)) === 60);
});

t.test("a command whose connection broke is not sent to a cluster again", async (t) => {
  const cluster = await startRedisCluster();
  t.teardown(() => cluster.stop());
  const client = await connected(t, cluster.servers);
  await until("every slot is served", async () => (await touchSlots(client)) === 60);
  const key = "{tag1}:once";
  const slot = Number(await client.call("CLUSTER", "KEYSLOT", key));
  const owner = cluster.nodes[Math.floor((slot * 3) / 16_384)];
  if (!owner) return t.fail("no node");

  let sent = 0;
  for (let attempt = 0; attempt < 30; attempt++) {
    await until("it is connected", async () => (await touchSlots(client)) === 60);
    // Frozen, the server gets both at once: it runs the command, and closes the connection before the reply leaves.
    owner.signal("SIGSTOP");
    const pair = [client.call("INCR", key), client.call("INCR", key)];
    sent += pair.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const killed = owner.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await new Promise((resolve) => setTimeout(resolve, 20));
    owner.signal("SIGCONT");
    await Promise.allSettled([killed, ...pair]);
  }
  t.ok(Number(await owner.call("GET", key)) <= sent);
});
