import t from "tap";
import { OtherLedger } from "../../../../core/money/ledger-watch.ts";
import { CommitCounts, MemoryHistory } from "../../../support/commit-counts.ts";
import { MemoryLedger } from "../../../support/memory-ledger.ts";
import { callIdOf, posting } from "../../../support/posting.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { endLeases, startStore } from "./store.ts";

/** A gateway on ledger `a` that has posted three calls, died, and left them uncommitted. */
async function stage() {
  const server = await startRedisServer();
  const of = (counts: CommitCounts) => {
    const ledger = new MemoryLedger();
    ledger.addAccount("A");
    return Object.assign(ledger, { history: new MemoryHistory(() => counts) });
  };
  const counts = new CommitCounts();
  counts.id = "a";
  const ledger = of(counts);
  await ledger.credit({
    ...{ accountId: "A", amountMicroVnd: 1_000n, reference: "start", kind: "topup", reason: null },
  });
  const first = await startStore({ servers: server.url, ledger });
  await ledger.history.commit();
  await first.store.acknowledge([]);
  await first.store.load("A", () => ledger.wallet("A"));
  for (const callId of ["c1", "c2", "c3"])
    await first.store.post(posting({ callId, accountId: "A", costMicroVnd: 70 }));
  await first.die();
  await endLeases(server.url, first.prefix);
  const { prefix } = first;
  const start = (counts?: CommitCounts) =>
    startStore({ servers: server.url, prefix, ledger: counts ? of(counts) : ledger });
  return { server, start };
}

t.test(
  "a gateway with another ledger does not start, and takes no post of a dead one",
  async (t) => {
    const { server, start } = await stage();
    const other = new CommitCounts();
    other.id = "b";
    await t.rejects(start(other), OtherLedger);
    await t.rejects(start(other), /has the money of ledger a, and stores.ledger is ledger b/);
    const { store, dispose } = await start();
    const entries = await store.read(10, 0);
    t.strictSame(entries.map(callIdOf).sort(), ["c1", "c2", "c3"]);
    t.equal(store.ledgerWentBack(), false, "nor does it stop the others");
    await dispose();
    await server.stop();
  },
);

t.test("a gateway on a ledger that went back commits no call of another", async (t) => {
  const { server, start } = await stage();
  const copy = new CommitCounts();
  copy.id = "a";
  const drill = await start(copy);
  t.equal(drill.store.ledgerWentBack(), true, "it knows at once");
  for (let reads = 0; reads < 20; reads += 1) t.strictSame(await drill.store.read(10, 10), []);
  await drill.dispose();
  const { store, dispose } = await start();
  t.strictSame((await store.read(10, 0)).map(callIdOf).sort(), ["c1", "c2", "c3"]);
  await dispose();
  await server.stop();
});

t.test("after a restore the calls of the dead are committed", async (t) => {
  const { server, start } = await stage();
  const restored = new CommitCounts();
  restored.id = "a";
  const { store, dispose } = await start(restored);
  t.strictSame(await store.read(10, 0), []);
  let result = "";
  void store.restoreFromLedger().then(({ kind }) => {
    result = kind;
  });
  const found: unknown[] = [];
  await until("the wallets can be loaded again", async () => {
    const entries = await store.read(10, 10);
    await store.acknowledge(entries);
    found.push(...entries.map(callIdOf));
    return result === "restored";
  });
  t.strictSame(found.sort(), ["c1", "c2", "c3"]);
  await dispose();
  await server.stop();
});
