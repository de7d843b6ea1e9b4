import assert from "node:assert/strict";
import { test } from "node:test";
import { posting } from "../../../support/posting.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { endLeases, startStore } from "./store.ts";

/** `BACKLOG=1000000` for the full one, which takes some minutes. */
const BACKLOG = Number(process.env["BACKLOG"] ?? 10_000);
const BATCH = 500;
const GROWTH_BYTES_MAX = 64 * 1024 * 1024;

test("the backlog of a dead gateway drains in batches, each entry once, without growing", async () => {
  const server = await startRedisServer();
  const limits = { outboxEntriesMax: BACKLOG + BATCH, timing: { leaseMs: 5_000 } };
  const first = await startStore({ servers: server.url, ...limits });
  await first.store.open("A", async () => ({
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
  assert.equal(first.store.backlog(), BACKLOG);
  await first.die();
  await endLeases(server.url, first.prefix);

  const second = await startStore({ servers: server.url, ...limits, prefix: first.prefix });
  const settled = new Set<string>();
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  for (;;) {
    const entries = await second.store.read(BATCH, 0);
    if (entries.length === 0) break;
    assert.ok(entries.length <= BATCH);
    for (const { posting } of entries) settled.add(posting.callId);
    await second.store.acknowledge(entries);
    most = Math.max(most, process.memoryUsage().heapUsed);
  }
  assert.equal(settled.size, BACKLOG);
  assert.deepEqual(await second.store.balances("A"), {
    availableMicroVnd: 0,
    heldMicroVnd: 0,
    pendingMicroVnd: 0,
  });
  // The set of ids is the test's own, some 100 bytes each.
  assert.ok(most - before < GROWTH_BYTES_MAX + 100 * BACKLOG, `${most - before} bytes more`);
  await second.dispose();
  await server.stop();
});
