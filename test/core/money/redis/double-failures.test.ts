/**
 * The losses of two failures at a time, as the README of the project lists them. Each test ends with a check that both
 * stores agree to the µđ.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import t from "tap";
import { posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import type { TestStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";
import { World } from "./world.ts";

const FUNDED = 10_000n;

interface Pair {
  readonly world: World;
  readonly server: RedisServer;
  readonly dies: TestStore;
  readonly lives: TestStore;
  /** The connection of the gateway that dies. */
  readonly client: SwitchedClient;
}

/** Two gateways on one Redis, and account A. Ends with the check of both stores. */
async function inPair(body: (pair: Pair) => Promise<void>) {
  const server = await startRedisServer({ settings: ["--save", "", "--appendonly", "no"] });
  const client = new SwitchedClient([server]);
  const world = new World({ servers: server.url, times: { leaseMs: 2_000 } });
  try {
    const dies = await world.addGateway({ client });
    const lives = await world.addGateway();
    await world.addAccount("A", FUNDED);
    await body({ world, server, dies, lives, client });
    await world.check();
  } finally {
    await world.dispose();
    await server.stop();
  }
}

/** Posts a call, and returns its id. */
async function posted(world: World, { store }: TestStore): Promise<string> {
  const before = new Set(world.posted.keys());
  t.equal(await world.call(store, "A"), "posted");
  return [...world.posted.keys()].find((callId) => !before.has(callId)) ?? "";
}

/** Ends a gateway for good: whatever only it had is lost with it. */
async function loseGateway(world: World, gateway: TestStore): Promise<void> {
  await world.kill(gateway);
  rmSync(gateway.spoolFolder, { recursive: true, force: true });
}

t.test("a wiped Redis and a gateway that dies with it lose its charges, and no money", async (t) =>
  inPair(async ({ world, server, dies, lives, client }) => {
    for (const { store } of [dies, lives]) world.pause(store);
    const lost = await posted(world, dies);
    const kept = await posted(world, lives);
    client.primary = undefined;
    await server.call("FLUSHALL");
    await loseGateway(world, dies);
    world.resume(lives.store);
    world.posted.delete(lost);
    await until("the other call is charged", () => world.ledger.charges.has(kept));
    const later = await posted(world, lives);
    await world.quiet();
    t.strictSame([...world.ledger.charges.keys()], [kept, later]);
  }),
);

t.test("a Redis that loses its last second keeps the posts of the gateways that live", async (t) =>
  inPair(async ({ world, server, dies, lives }) => {
    for (const { store } of [dies, lives]) world.pause(store);
    const saved = await posted(world, dies);
    await server.call("SAVE");
    const lost = await posted(world, dies);
    const kept = await posted(world, lives);
    await server.kill();
    await loseGateway(world, dies);
    await server.start();
    world.resume(lives.store);
    world.posted.delete(lost);
    await until("both other calls are charged", () =>
      [saved, kept].every((callId) => world.ledger.charges.has(callId)),
    );
    t.equal(world.ledger.charges.has(lost), false);
  }),
);

t.test(
  "a disk that is lost with a spool loses the posts in it, and gives their holds back",
  async (t) =>
    inPair(async ({ world, server, dies, lives, client }) => {
      await posted(world, dies);
      const amounts = { amountMicroVnd: 1_000, floorMicroVnd: 1_000 };
      const call = { callId: "spooled", accountId: "A", keyId: "K" };
      t.equal((await dies.store.hold({ ...call, ...amounts })).kind, "held");
      client.primary = undefined;
      const post = posting({ ...call, costMicroVnd: 700 });
      t.match(await dies.store.post(post), { chargedMicroVnd: 700 });
      client.primary = server;
      await loseGateway(world, dies);
      await until("its hold is given back", async () => {
        return (await lives.store.balances("A"))?.heldMicroVnd === 0;
      });
      t.equal(world.ledger.charges.has("spooled"), false);
    }),
);

t.test(
  "a gateway frozen between a read and its commit, while Redis is wiped, costs nothing",
  async (t) =>
    inPair(async ({ world, server, dies: sleeps, lives, client }) => {
      const commit = world.ledger.commit.bind(world.ledger);
      let commits = 0;
      let wake = () => {};
      const awake = new Promise<void>((resolve) => {
        wake = resolve;
      });
      world.ledger.commit = async (entries) => {
        commits += 1;
        if (commits === 1) await awake;
        return commit(entries);
      };
      const late = await posted(world, sleeps);
      await until("its batch is read", () => commits === 1);
      client.primary = undefined;
      await server.call("FLUSHALL");
      const isServed = async () => (await world.call(lives.store, "A")) === "posted";
      await until("its lease ends, and the other one loads the wallet", isServed);
      await until("that call is charged", () => world.ledger.charges.size === 1);
      wake();
      client.primary = server;
      // The ledger refuses the late commit. The call is posted again, to the wallet as it is now.
      await until("the first call is charged", () => world.ledger.charges.has(late));
      t.equal((await world.ledger.wallet("A"))?.balanceMicroVnd, FUNDED - 1_400n);
    }),
);

t.test("a wiped Redis forgets a revocation only if the gateway that made it is gone", async (t) => {
  const isRefused = async (world: World, { store }: TestStore) => {
    await world.call(store, "A", { cost: 0 });
    const amounts = { amountMicroVnd: 1, floorMicroVnd: 1 };
    const hold = { callId: randomUUID(), accountId: "A", keyId: "R", ...amounts };
    const { kind } = await store.hold(hold);
    if (kind === "held") await store.void(hold.callId, "A");
    return kind === "revoked";
  };
  await inPair(async ({ world, server, dies, lives, client }) => {
    await dies.store.revoke("R", "A");
    t.equal(await isRefused(world, lives), true);
    await server.call("FLUSHALL");
    await until("it is written again", () => isRefused(world, lives));
    client.primary = undefined;
    await server.call("FLUSHALL");
    await loseGateway(world, dies);
    t.equal(await isRefused(world, lives), false);
  });
});
