import assert from "node:assert/strict";
import t from "tap";
import { loadWithPurses } from "../../../../core/money/purse.ts";
import { listOf } from "../../../../core/redis/reply.ts";
import { posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { startTcpProxy, type TcpProxy } from "../../../support/tcp-proxy.ts";
import { until } from "../../../support/until.ts";
import { BUCKETS, type TestStore } from "./store.ts";
import { World } from "./world.ts";

const NOT_YET_MS = 100;
const SHORT_LEASE_MS = 300;

interface Parts {
  readonly world: World;
  readonly server: RedisServer;
  readonly x: TestStore;
  readonly y: TestStore;
  /** The proxy between the second gateway and Redis. */
  readonly proxy: TcpProxy;
}

/** Two gateways on a Redis server that the test can damage; account A has 1,000 µđ. */
async function inWorld(
  body: (parts: Parts) => Promise<void>,
  { leaseMs = 5_000 } = {},
): Promise<void> {
  const server = await startRedisServer();
  const proxy = await startTcpProxy(server.port);
  // Long leases, so that a slow gateway does not lose its own.
  const world = new World({ servers: server.url, times: { leaseMs } });
  try {
    const x = await world.addGateway();
    const y = await world.addGateway({ servers: `redis://127.0.0.1:${proxy.port}` });
    await world.addAccount("A", 1_000n);
    await body({ world, server, x, y, proxy });
  } finally {
    await world.dispose();
    await proxy.close();
    await server.stop();
  }
}

const PURSE = { name: "key:K:2026-11", limitMicroVnd: 500 };
const names = [PURSE.name];
const FREE = { heldMicroVnd: 0, uncommittedMicroVnd: 0 };
const CALL = { callId: "c", accountId: "A", keyId: "K" };

t.test(
  "a call that runs through a wipe takes its purses again, and is charged to them",
  async (t) =>
    inWorld(async ({ world, server, x }) => {
      await load(world, x);
      const hold = { ...CALL, amountMicroVnd: 200, floorMicroVnd: 200, purses: [PURSE] };
      t.equal((await x.store.hold(hold)).kind, "held");
      await server.call("FLUSHALL");
      const more = { ...CALL, totalMicroVnd: 900, floorMicroVnd: 300 };
      t.strictSame(await x.store.extend(more), { kind: "held", amountMicroVnd: 500 });
      const held = { ...FREE, availableMicroVnd: -500, heldMicroVnd: 500 };
      t.strictSame(await x.store.balances("A", PURSE.name), held);
      world.posted.set("c", 350);
      await x.store.post(
        posting({ callId: "c", accountId: "A", costMicroVnd: 350, purses: names }),
      );
      await world.check();
      const spent = { ...FREE, availableMicroVnd: -350 };
      t.strictSame(await x.store.balances("A", PURSE.name), spent);
      // A wiped Redis brings the budget back.
      await server.call("FLUSHALL");
      const next = { ...CALL, callId: "d", amountMicroVnd: 200, floorMicroVnd: 1, purses: [PURSE] };
      await load(world, x);
      t.strictSame(await x.store.hold(next), { kind: "held", amountMicroVnd: 150 });
      await x.store.void("d", "A");
      await world.check();
    }),
);

t.test("a call that runs through a wipe learns what is left, if its wallet is short", async (t) =>
  inWorld(async ({ world, server, x }) => {
    await x.store.load("A", () => world.ledger.wallet("A"));
    const held = await x.store.hold({ ...CALL, amountMicroVnd: 300, floorMicroVnd: 300 });
    t.equal(held.kind, "held");
    await server.call("FLUSHALL");
    const extension = { callId: "c", accountId: "A", totalMicroVnd: 1_001, floorMicroVnd: 1_001 };
    t.strictSame(await x.store.extend(extension), {
      kind: "short",
      purse: "wallet",
      availableMicroVnd: 1_000,
    });
    await x.store.void("c", "A");
    await world.check();
  }),
);

t.test("a call whose key was revoked does not take its hold again after a wipe", async (t) =>
  inWorld(async ({ world, server, x }) => {
    await load(world, x);
    const held = await x.store.hold({ ...CALL, amountMicroVnd: 300, floorMicroVnd: 300 });
    t.equal(held.kind, "held");
    await server.call("FLUSHALL");
    await x.store.revoke("K", "A");
    const extension = { callId: "c", accountId: "A", totalMicroVnd: 400, floorMicroVnd: 400 };
    t.strictSame(await x.store.extend(extension), { kind: "gone" });
    await world.check();
  }),
);

function load(world: World, { store }: TestStore): Promise<boolean> {
  return loadWithPurses(store, world.ledger, "A", names);
}

async function openSoon(
  world: World,
  gateway: TestStore,
  waitMs: number = NOT_YET_MS,
): Promise<string> {
  const later = new Promise<string>((resolve) => setTimeout(resolve, waitMs, "waits"));
  return Promise.race([load(world, gateway).then(String), later]);
}

t.test(
  "after a wipe no wallet is loaded while another gateway has uncommitted posts of it",
  async (t) =>
    inWorld(async ({ world, server, x, y }) => {
      world.pause(y.store);
      await world.call(y.store, "A");
      await server.call("FLUSHALL");
      t.equal(await openSoon(world, x), "waits");
      world.resume(y.store);
      t.equal(await load(world, x), true);
      t.equal((await x.store.balances("A"))?.availableMicroVnd, 300);
      await world.check();
    }),
);

t.test(
  "after an old snapshot no wallet is loaded while it holds posts of a dead gateway",
  async (t) =>
    inWorld(
      async ({ world, server, x, y }) => {
        world.pause(y.store);
        await world.call(y.store, "A", { hold: 500, cost: 500 });
        await server.call("SAVE");
        await world.kill(y);
        // An operation that the snapshot lacks, so that the bucket begins a new epoch.
        await world.call(x.store, "A", { hold: 100, cost: 100 });
        while (x.store.uncommittedCalls() > 0)
          await new Promise((resolve) => setTimeout(resolve, 5));
        world.pause(x.store);
        await server.kill();
        await server.start();
        // Until long after the lease of the dead gateway.
        t.equal(await openSoon(world, x, 3 * SHORT_LEASE_MS), "waits");
        world.resume(x.store);
        t.equal(await load(world, x), true);
        t.equal((await x.store.balances("A"))?.availableMicroVnd, 400);
        await world.check();
      },
      { leaseMs: SHORT_LEASE_MS },
    ),
);

t.test(
  "a post that succeeded without a reply is charged once, though another gateway committed it and Redis was wiped",
  async (t) =>
    inWorld(
      async ({ world, server, x, y, proxy }) => {
        await load(world, y);
        const money = { amountMicroVnd: 700, floorMicroVnd: 700 };
        await y.store.hold({ callId: "c", accountId: "A", keyId: "K", ...money });
        server.signal("SIGSTOP");
        // It waits in the server's socket, and runs after the gateway stopped waiting for the reply.
        world.posted.set("c", 700);
        await y.store.post(posting({ callId: "c", accountId: "A", costMicroVnd: 700 }));
        proxy.cut();
        server.signal("SIGCONT");
        while (!world.ledger.charges.has("c")) await new Promise((done) => setTimeout(done, 5));
        await server.call("FLUSHALL");
        t.equal(await load(world, x), true);
        t.equal((await x.store.balances("A"))?.availableMicroVnd, 300);
        proxy.restore();
        await world.check();
        t.equal((await x.store.balances("A"))?.availableMicroVnd, 300);
      },
      { leaseMs: SHORT_LEASE_MS },
    ),
);

t.test(
  "a gateway that the ledger does not list enters no epoch before a lease is over",
  async (t) => {
    const server = await startRedisServer();
    const world = new World({ servers: server.url, times: { leaseMs: 60_000 } });
    const { ledger } = world;
    const x = await world.addGateway();
    let isAway = false;
    let asked = 0;
    const enter: typeof ledger.epochs.enter = async (...args) => {
      if (!isAway) return ledger.epochs.enter(...args);
      asked += 1;
      throw new Error("the ledger is down");
    };
    const y = await world.addGateway({
      ledger: {
        wallet: (id) => ledger.wallet(id),
        purse: (id, name) => ledger.purse(id, name),
        hasCall: (call) => ledger.hasCall(call),
        history: ledger.history,
        epochs: { ...ledger.epochs, enter },
      },
    });
    const bucket = `${x.prefix}:{b00}`;
    const members = async () => {
      const epoch = String(await server.call("GET", `${bucket}:epoch`));
      return listOf(await server.call("HKEYS", `${bucket}:${epoch}:procs`)).map(String);
    };
    isAway = true;
    await server.call("FLUSHALL");
    await until("the other one has entered", async () => (await members()).includes(x.gateway));
    asked = 0;
    await until("it was refused in each bucket again", () => asked > 2 * BUCKETS);
    t.strictSame(await members(), [x.gateway]);
    isAway = false;
    await until("it enters", async () => (await members()).includes(y.gateway));
    await world.dispose();
    await server.stop();
  },
);

/** Returns the final result of the first gateway, which asks for money that the second one has spent. */
async function askForSpentMoney({ world, server, proxy, x, y }: Parts): Promise<string> {
  assert.equal(await world.call(x.store, "A", { hold: 100, cost: 100 }), "posted");
  await world.quiet();
  await server.call("SAVE");
  assert.equal(await world.call(y.store, "A", { hold: 900, cost: 900 }), "posted");
  await world.quiet();
  proxy.cut();
  await server.kill();
  await server.start();
  const startMs = performance.now();
  const money = { amountMicroVnd: 900, floorMicroVnd: 900 };
  for (;;) {
    const { kind } = await x.store.hold({ callId: "c", accountId: "A", keyId: "K", ...money });
    if (kind === "held" || kind === "short") return kind;
    if (kind === "unknown" && performance.now() - startMs > 1_300) return "unknown";
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

t.test(
  "money that an old snapshot restores is not spent again if its spender never returns",
  async (t) =>
    inWorld(
      async (parts) => {
        const kind = await askForSpentMoney(parts);
        // The next load reads the wallet from the ledger.
        t.equal(kind, "unknown");
        await load(parts.world, parts.x);
        t.equal((await parts.x.store.balances("A"))?.availableMicroVnd, 0);
        parts.proxy.restore();
        await parts.world.check();
      },
      { leaseMs: SHORT_LEASE_MS },
    ),
);
