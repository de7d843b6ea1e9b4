import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { callIdOf, posting } from "../../../support/posting.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { endLeases, startStore } from "./store.ts";

/** `BACKLOG=1000000` for the full test, which takes minutes. */
const BACKLOG = Number(process.env["BACKLOG"] ?? 10_000);
const BATCH = 500;
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

t.test(
  "the outbox of a dead gateway is committed in batches, each entry once, without growing",
  async (t) => {
    const server = await startRedisServer();
    const limits = { outboxEntriesMax: BACKLOG + BATCH, times: { leaseMs: 5_000 } };
    const first = await startStore({ servers: server.url, ...limits });
    await first.store.load("A", async () => ({
      accountId: "A",
      balanceMicroVnd: BigInt(BACKLOG),
      creditVersion: 1,
      creditedMicroVnd: BigInt(BACKLOG),
    }));
    for (let posted = 0; posted < BACKLOG; posted += BATCH) {
      const calls = Array.from({ length: BATCH }, (_, n) =>
        first.store.post(posting({ callId: `c${posted + n}`, accountId: "A", costMicroVnd: 1 })),
      );
      await Promise.all(calls);
    }
    t.equal(first.store.uncommittedCalls(), BACKLOG);
    await first.die();
    await endLeases(server.url, first.prefix);

    const second = await startStore({ servers: server.url, ...limits, prefix: first.prefix });
    const timesCommitted = new Uint8Array(BACKLOG);
    let committed = 0;
    let before = 0;
    for (;;) {
      const entries = await second.store.read(BATCH, 0);
      if (entries.length === 0) break;
      t.ok(entries.length <= BATCH);
      for (const entry of entries) timesCommitted[Number(callIdOf(entry)?.slice(1))]! += 1;
      await second.store.acknowledge(entries);
      committed += entries.length;
      if (before === 0 && committed > BACKLOG / 10) before = liveBytes();
    }
    t.ok(timesCommitted.every((times) => times === 1));
    const grown = liveBytes() - before;
    t.ok(grown < GROWTH_BYTES_MAX, `${grown} bytes more`);
    t.strictSame(await second.store.balances("A"), {
      availableMicroVnd: 0,
      heldMicroVnd: 0,
      uncommittedMicroVnd: 0,
    });
    await second.dispose();
    await server.stop();
  },
);

/** Heap size after a full collection. */
function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed;
}
