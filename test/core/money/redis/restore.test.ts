import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { startRedisServer } from "../../../support/redis.ts";
import { World } from "./world.ts";

/** Longer than an operation waits, in all its attempts, for a bucket that is being joined. */
const LEASE_MS = 4_500;
/** Several heartbeats: each gateway has noticed that the epoch ended. */
const NOTICED_MS = 200;

t.test(
  "wallets load as soon as a restore is done, though a dead gateway's lease delays it",
  async (t) => {
    const server = await startRedisServer();
    const times = { leaseMs: LEASE_MS };
    const world = new World({ servers: server.url, times });
    try {
      const { store } = await world.addGateway();
      const dead = await world.addGateway();
      await world.addAccount("A", 5_000n);
      t.equal(await world.call(store, "A"), "posted");
      await world.quiet();
      await world.kill(dead);
      t.strictSame(await store.restoreFromLedger(), { kind: "restored" });
      await delay(NOTICED_MS);
      t.equal(await store.balances("A"), undefined, "no wallet is loaded yet");
      t.equal(await world.call(store, "A"), "posted");
    } finally {
      await world.dispose();
      await server.stop();
    }
  },
);
