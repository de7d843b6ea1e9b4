import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { inLanes, World } from "./world.ts";

const ACCOUNTS = ["A", "B", "C", "D", "E", "F"];
/** `ROUNDS=50` for a longer run. */
const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const LANES = 12;
/** How long the fault lasts. Nothing has to have happened when it ends. */
const FREEZE_MS = 300;
const RICH = 10_000_000_000n;

/** Runs two gateways under load while `harm` hits Redis repeatedly. No charge is lost, and the stores agree. */
async function underHarm(
  server: RedisServer,
  harm: (world: World) => Promise<void>,
): Promise<World> {
  const world = new World({ servers: server.url });
  try {
    await world.addGateway();
    await world.addGateway();
    for (const account of ACCOUNTS) await world.addAccount(account, RICH);
    let isOver = false;
    const load = inLanes(
      LANES,
      () => isOver,
      async (turn) => {
        const account = ACCOUNTS[turn % ACCOUNTS.length]!;
        const cost = turn % 7 === 0 ? 0 : 700 + (turn % 13);
        const store = world.stores[turn % 2]!;
        const end = await world.call(store, account, {
          cost,
          extendTo: turn % 5 === 0 ? 1_500 : 0,
        });
        // A refused client backs off.
        if (end === "refused") await delay(5);
      },
    );
    for (let round = 0; round < ROUNDS; round += 1) {
      await morePosted(world, 300);
      await harm(world);
    }
    await morePosted(world, 300);
    isOver = true;
    await load;
    await world.check();
  } finally {
    await world.dispose();
    await server.stop();
  }
  return world;
}

async function morePosted(world: World, calls: number): Promise<void> {
  const enough = world.ends.posted + calls;
  while (world.ends.posted < enough) await delay(2);
}

t.test("redis is wiped under load, and every call is charged once", async () => {
  const server = await startRedisServer();
  await underHarm(server, async () => {
    await server.call("FLUSHALL");
  });
});

t.test("redis is restored from an old snapshot, and every call is charged once", async () => {
  const server = await startRedisServer({ settings: ["--save", "", "--appendonly", "no"] });
  await underHarm(server, async (world) => {
    await server.call("SAVE");
    await morePosted(world, 20);
    await server.kill();
    await server.start();
  });
});

t.test("redis is killed with its append-only file, and every call is charged once", async () => {
  const server = await startRedisServer({
    settings: ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"],
  });
  await underHarm(server, async () => {
    await server.kill();
    await server.start();
  });
});

t.test("redis is frozen for a while, and every call is charged once", async () => {
  const server = await startRedisServer();
  await underHarm(server, async () => {
    server.signal("SIGSTOP");
    await delay(FREEZE_MS);
    server.signal("SIGCONT");
  });
});
