import assert from "node:assert/strict";
import { test } from "node:test";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import type { TestStore } from "./store.ts";
import { World } from "./world.ts";

const NOT_YET_MS = 100;
const ROUNDS = 8;

/** Two gateways on a server that may be harmed; account A has 1,000 µđ. */
async function inWorld(
  body: (parts: { world: World; server: RedisServer; x: TestStore; y: TestStore }) => Promise<void>,
): Promise<void> {
  const server = await startRedisServer();
  // Long leases: here nobody is taken for dead who is only slow.
  const world = new World({ servers: server.url, timing: { leaseMs: 5_000, graceMs: 50 } });
  try {
    const x = await world.addGateway();
    const y = await world.addGateway();
    await world.addAccount("A", 1_000n);
    await body({ world, server, x, y });
  } finally {
    await world.dispose();
    await server.stop();
  }
}

function open(world: World, { store }: TestStore): Promise<boolean> {
  return store.open("A", () => world.ledger.wallet("A"));
}

async function openSoon(world: World, gateway: TestStore): Promise<string> {
  const later = new Promise<string>((resolve) => setTimeout(resolve, NOT_YET_MS, "waits"));
  return Promise.race([open(world, gateway).then(String), later]);
}

test("after a wipe no wallet is opened while another gateway keeps posts of it", () =>
  inWorld(async ({ world, server, x, y }) => {
    world.pause(y.store);
    await world.call(y.store, "A");
    await server.call("FLUSHALL");
    assert.equal(await openSoon(world, x), "waits");
    world.resume(y.store);
    assert.equal(await open(world, x), true);
    assert.equal((await x.store.balances("A"))?.availableMicroVnd, 300);
    await world.check();
  }));

test("after an old snapshot no wallet is opened while it holds posts of a dead gateway", () =>
  inWorld(async ({ world, server, x, y }) => {
    world.pause(y.store);
    await world.call(y.store, "A", { hold: 500, cost: 500 });
    await server.call("SAVE");
    await world.kill(y);
    // What the snapshot does not have, so that the bucket has to go on in a new epoch.
    await world.call(x.store, "A", { hold: 100, cost: 100 });
    world.pause(x.store);
    await server.kill();
    await server.start();
    assert.equal(await openSoon(world, x), "waits");
    world.resume(x.store);
    assert.equal(await open(world, x), true);
    assert.equal((await x.store.balances("A"))?.availableMicroVnd, 400);
    await world.check();
  }));

test("money that an old snapshot brings back is not spent again, by whoever is first to come back", () =>
  inWorld(async ({ world, server, x, y }) => {
    assert.equal(await world.call(x.store, "A", { hold: 100, cost: 100 }), "posted");
    await server.call("SAVE");
    assert.equal(await world.call(y.store, "A", { hold: 900, cost: 900 }), "posted");
    for (let round = 0; round < ROUNDS; round += 1) {
      await server.kill();
      await server.start();
      let end = "refused";
      while (end === "refused") {
        // The gateway that has lost nothing asks for the money that the other one has spent.
        end = await world.call(x.store, "A", { hold: 900, cost: 900 });
        await new Promise(setImmediate);
      }
      assert.equal(end, "short");
    }
    await world.check();
  }));
