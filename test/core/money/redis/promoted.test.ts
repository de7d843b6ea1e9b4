import assert from "node:assert/strict";
import t, { type Test } from "tap";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import type { TestStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";
import { type CallEnd, World } from "./world.ts";

const WALLET = 1_000;
const WHOLE = { hold: WALLET, cost: WALLET };
const FREE = { cost: 0 };
/** Ten rounds of each bucket. */
const LOOKS = 40;

interface Gateway extends TestStore {
  readonly client: SwitchedClient;
}

interface Parts {
  readonly world: World;
  /** The first primary and its replica. */
  readonly servers: readonly [RedisServer, RedisServer];
  /** Gateways that have both used the wallet of account A at the first primary. */
  readonly x: Gateway;
  readonly y: Gateway;
}

async function inWorld(body: (parts: Parts) => Promise<void>, leaseMs = 120_000): Promise<void> {
  const servers = [await startRedisServer(), await startRedisServer()] as const;
  const [first, second] = servers;
  for (const server of servers) await server.call("CONFIG", "SET", "repl-diskless-sync-delay", "0");
  // Long leases, so that a slow gateway does not lose its own.
  const world = new World({ servers: first.url, times: { leaseMs } });
  const add = async () => {
    const client = new SwitchedClient(servers);
    return { ...(await world.addGateway({ client })), client };
  };
  try {
    const [x, y] = [await add(), await add()];
    await world.addAccount("A", BigInt(WALLET));
    for (const gateway of [x, y]) await goesOn(world, gateway);
    await follow(second, first);
    await second.call("REPLICAOF", "NO", "ONE");
    // A first replica gives its primary another replication id: the epoch that begins then is open too.
    for (const gateway of [x, y]) await goesOn(world, gateway);
    await body({ world, servers, x, y });
  } finally {
    await world.dispose();
    for (const server of servers) await server.stop();
  }
}

async function follow(replica: RedisServer, primary: RedisServer): Promise<void> {
  await replica.call("REPLICAOF", "127.0.0.1", `${primary.port}`);
  await until("the replica follows", async () =>
    `${await replica.call("INFO", "replication")}`.includes("master_link_status:up"),
  );
}

async function goesOn(world: World, { store }: Gateway): Promise<void> {
  await until("calls go on", async () => (await world.call(store, "A", FREE)) === "voided");
}

/** Sells the whole wallet. The post does not reach the ledger before `world.resume`. */
async function sellAll(world: World, { store }: Gateway): Promise<void> {
  world.pause(store);
  assert.equal(await world.call(store, "A", WHOLE), "posted");
}

/** Returns how a call for the whole wallet ends, or undefined if it waits longer than any fence that lifts by itself. */
async function soonEnd(
  world: World,
  { store, client }: Gateway,
): Promise<{ soon: CallEnd | undefined; end: Promise<CallEnd> }> {
  let soon: CallEnd | undefined;
  await until("it has reached the server", () => {
    const health = store.health();
    return health.kind === "ok" || health.cause !== "redis_unreachable";
  });
  const end = world.call(store, "A", WHOLE).then((how) => {
    soon = how;
    return how;
  });
  const enough = client.looks + LOOKS;
  await until("the gateway has looked often", () => soon !== undefined || client.looks >= enough);
  return { soon, end };
}

/**
 * X sold the wallet at the second server and is cut off. Y meets the first one, which does not know of it, and must not
 * sell the wallet again. It waits for X, which does know.
 */
async function meetFirst(t: Test, { world, servers: [first], x, y }: Parts): Promise<void> {
  x.client.primary = undefined;
  y.client.primary = first;
  const { soon, end } = await soonEnd(world, y);
  t.equal(soon, undefined, "it waits");
  x.client.primary = first;
  world.resume(x.store);
  t.equal(await end, "short");
  await world.check();
}

t.test("a primary is promoted again, and misses the last call of a cut-off gateway", (t) =>
  inWorld(async (parts) => {
    const { world, servers, x, y } = parts;
    const [first, second] = servers;
    for (const { client } of [x, y]) client.primary = second;
    for (const gateway of [x, y]) await goesOn(world, gateway);
    await follow(first, second);
    await first.call("REPLICAOF", "NO", "ONE");
    await sellAll(world, x);
    await meetFirst(t, parts);
  }),
);

t.test("a gateway that could not use the new primary returns to the old one", (t) =>
  inWorld(async (parts) => {
    const { world, servers, x, y } = parts;
    const [, second] = servers;
    y.client.unsent.add("noop");
    for (const { client } of [x, y]) client.primary = second;
    await sellAll(world, x);
    y.client.unsent.clear();
    await meetFirst(t, parts);
  }),
);

t.test("a gateway that verified one primary lifts no fence of another that took over since", (t) =>
  inWorld(async (parts) => {
    const { world, servers, x, y } = parts;
    const [first, second] = servers;
    y.client.unsent.add("noop");
    for (const { client } of [x, y]) client.primary = second;
    await sellAll(world, x);
    x.client.primary = undefined;
    const lifted = new Promise<void>((resolve) => {
      y.client.before.set("noop", () => {
        y.client.primary = first;
        y.client.unsent.clear();
        resolve();
      });
    });
    await lifted;
    await meetFirst(t, parts);
  }),
);

t.test("no gateway uses a new primary that another one does not know of yet", (t) =>
  inWorld(async ({ world, servers, x, y }) => {
    const [, second] = servers;
    y.client.unheard.add("look");
    for (const { client } of [x, y]) client.primary = second;
    const { soon, end } = await soonEnd(world, x);
    t.equal(soon, undefined, "it waits");
    y.client.unheard.clear();
    t.equal(await end, "posted");
    await world.check();
  }),
);

t.test(
  "a primary is demoted and promoted again while no gateway lives, and lacks what they sold",
  (t) =>
    inWorld(async ({ world, servers, x }) => {
      const [first, second] = servers;
      t.equal(await world.call(x.store, "A", WHOLE), "posted");
      await until("the sale is in the ledger", () => world.ledger.charges.size > 0);
      for (const gateway of [...world.gateways]) await world.kill(gateway);
      await follow(first, second);
      await first.call("REPLICAOF", "NO", "ONE");
      const client = new SwitchedClient(servers);
      const next = await world.addGateway({ client });
      t.equal(await world.call(next.store, "A", WHOLE), "short");
      await world.check();
    }, 1_000),
);
