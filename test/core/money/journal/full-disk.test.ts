import t from "tap";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../../core/money/embedded/store.ts";
import { entryOf } from "../../../../core/money/entry.ts";
import { DiskProbe } from "../../../../core/money/journal/probe.ts";
import { Spool } from "../../../../core/money/redis/spool.ts";
import type { Disk } from "../../../../core/process/disk.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";
import { posting } from "../../../support/posting.ts";
import { simulatedMachine } from "../simulated-machine.ts";

const MINUTE_MS = 60_000;

const post = (callId: string) => posting({ callId, accountId: "A", costMicroVnd: 0 });

async function embedded({
  machine,
  log,
  pass,
}: ReturnType<typeof simulatedMachine>): Promise<EmbeddedHoldStore> {
  const store = createEmbeddedHoldStore({
    journal: { folder: "/data/journal", bytesMax: 1e6, sync: false, log, machine },
    outboxEntriesMax: 1_000,
    history: new MemoryHistory(),
  });
  await store.start();
  // The probe of the start ends.
  await pass(100);
  return store;
}

t.test("a disk that takes no new file is full too", async (t) => {
  const { log, lines } = recordedLog();
  const disk = {
    exists: () => false,
    create: () => {
      throw new Error("EROFS: read-only file system");
    },
  } as unknown as Disk;
  const probe = new DiskProbe({ disk, folder: "/data/journal", scratch: Buffer.alloc(1), log });
  probe.try();
  t.match(probe.failure, /EROFS/);
  t.match(lines, [{ msg: /cannot write the journal/ }]);
});

t.test("a full disk is never taken for one with room, however long no call ends", async (t) => {
  const world = simulatedMachine();
  const store = await embedded(world);
  const { disk, pass, errors } = world;
  t.equal(store.health().kind, "ok");
  disk.freeBytes = 100;
  t.throws(() => store.post(post("c1")), /cannot write/);
  let served = 0;
  await pass(MINUTE_MS, () => {
    if (store.health().kind !== "away") served += 1;
  });
  t.equal(served, 0, "no call goes to the provider to find out");
  t.equal(errors(), 1, "one line says so");
  t.equal(disk.freeBytes, 100, "and the probes leave nothing on the disk");
  disk.empty();
  await pass(1_500);
  t.equal(store.health().kind, "ok", "no restart is needed");
  store.post(post("c2"));
});

t.test("a post that fits in the last block does not open a full disk", async (t) => {
  const world = simulatedMachine();
  const store = await embedded(world);
  world.disk.freeBytes = 100;
  t.throws(() => store.post(post("c1")), /cannot write/);
  world.disk.freeBytes = 1_000;
  store.post(post("c1"));
  t.match(store.health(), { kind: "away", cause: "journal_or_lock" });
  await world.pass(5_000);
  t.equal(store.health().kind, "away");
});

t.test("a gateway that starts on a full disk serves nothing until there is room", async (t) => {
  const world = simulatedMachine();
  world.disk.freeBytes = 100;
  const store = await embedded(world);
  t.equal(store.health().kind, "away");
  world.disk.empty();
  await world.pass(1_500);
  t.equal(store.health().kind, "ok");
});

t.test("the spool of a gateway with Redis probes its disk too", async (t) => {
  const { disk, machine, log, pass } = simulatedMachine();
  const spool = await Spool.open({ folder: "/data/spool", bytesMax: 1e6, log, machine });
  await pass(100);
  disk.freeBytes = 100;
  await t.rejects(spool.add(entryOf("", post("c1"), 0, 0)), /cannot write/);
  let accepted = 0;
  await pass(MINUTE_MS, () => {
    if (spool.refusal(1) === undefined) accepted += 1;
  });
  t.equal(accepted, 0);
  disk.empty();
  await pass(1_500);
  t.equal(spool.refusal(1), undefined);
});

t.test("a gateway whose disk takes 12 s for a sync sells no call until it is over", async (t) => {
  const world = simulatedMachine();
  const store = await embedded(world);
  const { disk, pass } = world;
  disk.slowMs = 12_000;
  let served = 0;
  await pass(20_000, () => {
    if (store.health().kind === "away") return;
    served += 1;
    store.post(post(`c${served}`));
  });
  t.match(store.health(), { kind: "away", cause: "journal_or_lock", reason: /is slow/ });
  t.ok(store.unsyncedMs() > 3_000);
  t.ok(
    served <= 90,
    `${served} calls of ten a second in 20 s: 3 s, and 6 s until a sync that ends at 13 s`,
  );
  disk.slowMs = 0;
  await pass(15_000);
  t.equal(store.health().kind, "ok", "no restart is needed");
  t.equal(store.unsyncedMs(), 0);
});
