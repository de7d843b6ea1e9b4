import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Journal, type JournalOptions } from "../../../../core/money/journal/journal.ts";
import type { Disk } from "../../../../core/process/disk.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { recordedLog } from "../../../support/log.ts";
import { ManualMachine } from "../manual-machine.ts";
import { simulatedMachine } from "../simulated-machine.ts";

const FOLDER = "/data/journal";
const CANNOT_SYNC = /cannot sync/;
/** The journal syncs, and tries to end a failure, each second. */
const ROUND_MS = 1_000;

interface Parts {
  readonly journal: Journal;
  /** From now on syncs fail, and the kernel drops the data that they should have written. */
  fail(): void;
  recover(): void;
  /** Appends a record, and returns "kept" once it is on the disk, or why it is not. */
  synced(text: string): Promise<string>;
  /** Runs the simulated time until the journal has had `rounds` rounds. */
  pass(rounds: number): Promise<void>;
  /** Returns what the journal has after a kill -9, and then after a loss of power. */
  afterKill(): Promise<string[]>;
  afterPowerLoss(): Promise<string[]>;
}

async function inWorld(
  options: Partial<JournalOptions>,
  body: (parts: Parts) => Promise<void>,
): Promise<void> {
  const { disk, scheduler, machine, next, log, pass, ended } = simulatedMachine();
  let last = machine;
  const open = () => {
    const wanted = { folder: FOLDER, bytesMax: 100_000, sync: false, ...options };
    return Journal.open({ ...wanted, log, machine: last });
  };
  const again = async () => {
    last.kill();
    last = next("another");
    return (await open()).recovered.map(({ payload }) => payload);
  };
  const journal = await open();
  await body({
    journal,
    fail: () => disk.failSyncs(scheduler.nowMs),
    recover: () => disk.endFailedSyncs(scheduler.nowMs),
    synced: (text) =>
      ended(
        journal.whenSynced(journal.appendAll([text])).then(
          () => "kept",
          (error: Error) => error.message,
        ),
      ),
    pass: (rounds) => pass(rounds * ROUND_MS + ROUND_MS / 2),
    afterKill: again,
    afterPowerLoss: () => {
      last.kill();
      disk.losePower();
      return again();
    },
  });
}

function refuses(t: Test, journal: Journal): void {
  t.match(journal.refusal(1) ?? "", CANNOT_SYNC);
  t.throws(() => journal.appendAll(["refused"]), CANNOT_SYNC);
}

t.test("calls go on after a failed sync in the background, and its records are not lost", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.appendAll(["1"]);
    fail();
    await pass(1);
    refuses(t, journal);
    recover();
    await pass(1);
    t.equal(journal.refusal(1), undefined);
    journal.appendAll(["2"]);
    await pass(1);
    t.strictSame(await afterKill(), ["1", "2"]);
    t.strictSame(await afterPowerLoss(), ["1", "2"]);
  }),
);

t.test("a segment that ends while a record of it is not synced loses none", (t) =>
  inWorld({ segmentBytes: 60 }, async ({ synced, journal, afterPowerLoss }) => {
    for (const text of ["1", "2", "3", "4"]) t.equal(await synced(text), "kept");
    journal.appendAll(["5"]);
    const { bytes } = journal;
    journal.appendAll(["6"]);
    t.equal(
      journal.bytes,
      bytes + 2 * "12345678 6 6\n".length,
      "the next segment repeats 5, and has 6",
    );
    t.equal(await synced("7"), "kept");
    t.strictSame(await afterPowerLoss(), ["1", "2", "3", "4", "5", "6", "7"]);
  }),
);

t.test("records are refused until a new segment is on the disk", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.appendAll(["1"]);
    await pass(1);
    journal.appendAll(["2"]);
    journal.appendAll(["3"]);
    fail();
    await pass(4);
    refuses(t, journal);
    recover();
    await pass(1);
    t.equal(journal.appendAll(["4"]), 4);
    await pass(1);
    t.strictSame(await afterKill(), ["1", "2", "3", "4"]);
    t.strictSame(await afterPowerLoss(), ["1", "2", "3", "4"]);
  }),
);

t.test("a record that was refused because its sync failed does not come back", (t) =>
  inWorld({ sync: true }, async ({ fail, recover, journal, synced, pass, afterPowerLoss }) => {
    t.equal(await synced("1"), "kept");
    fail();
    t.match(await synced("refused"), CANNOT_SYNC);
    recover();
    refuses(t, journal);
    await pass(1);
    t.equal(journal.appendAll([]), 2, "the next position");
    t.equal(await synced("2"), "kept");
    t.strictSame(await afterPowerLoss(), ["1", "2"]);
  }),
);

t.test("nor after a kill before the disk recovers", (t) =>
  inWorld({ sync: true }, async ({ fail, recover, synced, afterKill }) => {
    t.equal(await synced("1"), "kept");
    fail();
    t.match(await synced("refused"), CANNOT_SYNC);
    recover();
    t.strictSame(await afterKill(), ["1"]);
  }),
);

t.test("a record that is written while a sync runs waits for the next one", async (t) => {
  const { journal, syncs, close } = await slowlySynced({ sync: true });
  const order: string[] = [];
  const wait = (text: string) =>
    journal.whenSynced(journal.appendAll([text])).then(
      () => order.push(`${text} kept`),
      () => order.push(`${text} refused`),
    );
  const one = wait("1");
  await Promise.resolve();
  const [two, three] = [wait("2"), wait("3")];
  t.equal(syncs.length, 1, "one sync at a time");
  syncs[0]?.(null);
  await one;
  t.strictSame(order, ["1 kept"], "2 was written after it had begun");
  t.equal(syncs.length, 2, "and one sync for both");
  const four = wait("4");
  syncs[1]?.(new Error("EIO"));
  await Promise.all([two, three, four]);
  t.strictSame(order, ["1 kept", "2 refused", "3 refused", "4 refused"]);
  t.throws(() => journal.appendAll(["5"]), CANNOT_SYNC);
  await close();
});

t.test("a journal that is closed on a disk that fails releases its folder", (t) =>
  inWorld({}, async ({ fail, recover, journal, afterKill }) => {
    journal.appendAll(["1"]);
    fail();
    await t.rejects(journal.close(), /cannot sync the journal/);
    recover();
    t.strictSame(await afterKill(), ["1"]);
  }),
);

t.test("a start trusts no file of a process that died after a failed sync", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.appendAll(["1"]);
    fail();
    await pass(1);
    recover();
    t.strictSame(await afterKill(), ["1"]);
    t.strictSame(await afterPowerLoss(), ["1"]);
  }),
);

t.test("a journal opens on a disk that fails, and its records are synced later", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.appendAll(["1"]);
    fail();
    t.strictSame(await afterKill(), ["1"]);
    recover();
    await pass(1);
    t.strictSame(await afterPowerLoss(), ["1"]);
  }),
);

t.test("a new file that cannot be synced is not used", (t) =>
  inWorld({ sync: true }, async ({ fail, recover, journal, synced, pass, afterPowerLoss }) => {
    t.equal(await synced("1"), "kept");
    fail();
    t.match(await synced("2"), CANNOT_SYNC);
    await pass(10);
    refuses(t, journal);
    recover();
    await pass(1);
    t.equal(journal.refusal(1), undefined);
    t.strictSame(await afterPowerLoss(), ["1"]);
  }),
);

/** A journal whose syncs end when the test says so. */
async function slowlySynced(options: Partial<JournalOptions>) {
  const syncs: ((error: Error | null) => void)[] = [];
  const syncSoon: Disk["syncSoon"] = (_, done) => syncs.push(done);
  const machine = Object.assign(new ManualMachine(), { disk: { ...systemMachine.disk, syncSoon } });
  const folder = mkdtempSync(join(tmpdir(), "tollgate-syncs-"));
  const { log } = recordedLog();
  const wanted = { folder, bytesMax: 100_000, sync: false, log, machine, ...options };
  const journal = await Journal.open(wanted);
  // The probe of the start.
  syncs.shift()?.(null);
  const close = async () => {
    await journal.close();
    rmSync(folder, { recursive: true });
  };
  return { journal, machine, syncs, close };
}

t.test("a slow disk gets one sync at a time", async (t) => {
  const { journal, machine, syncs, close } = await slowlySynced({});
  for (const record of ["1", "2", "3"]) {
    journal.appendAll([record]);
    await machine.advance(ROUND_MS);
  }
  t.equal(syncs.length, 1);
  syncs[0]?.(null);
  await machine.advance(0);
  await machine.advance(ROUND_MS);
  t.equal(syncs.length, 2, "the records since then get the next");
  syncs[1]?.(null);
  await machine.advance(0);
  await machine.advance(3 * ROUND_MS);
  t.equal(syncs.length, 2, "nothing is left to sync");
  await close();
});

t.test("a record that waits for a slow disk for more than 3 s refuses more", async (t) => {
  const { journal, machine, syncs, close } = await slowlySynced({});
  journal.appendAll(["1"]);
  await machine.advance(ROUND_MS);
  journal.appendAll(["2"]);
  await machine.advance(2 * ROUND_MS);
  t.equal(journal.refusal(1), undefined, "at 3 s");
  await machine.advance(1);
  t.match(journal.refusal(1), /is slow/);
  t.equal(journal.unsyncedMs, 3_001);
  syncs[0]?.(null);
  await machine.advance(0);
  t.equal(journal.refusal(1), undefined, "2 waits since the sync began");
  t.equal(journal.unsyncedMs, 2_001);
  await machine.advance(ROUND_MS);
  t.match(journal.refusal(1), /is slow/);
  syncs[1]?.(null);
  await machine.advance(0);
  t.equal(journal.unsyncedMs, 0);
  await close();
});

t.test("a process that stands still for long does not take its disk for slow", async (t) => {
  const { journal, machine, syncs, close } = await slowlySynced({});
  journal.appendAll(["1"]);
  await machine.advance(ROUND_MS);
  for (const stalls of [1, 2]) {
    machine.stall(10 * ROUND_MS);
    t.equal(journal.refusal(1), undefined, `stall ${stalls}`);
    await machine.advance(0);
    t.equal(journal.refusal(1), undefined, `the round after stall ${stalls}`);
  }
  await machine.advance(1);
  t.match(journal.refusal(1), /is slow/, "it ran for 3 s");
  syncs[0]?.(null);
  await machine.advance(0);
  await close();
});

t.test("a journal that closes waits for a sync that runs, and leaves no file open", async (t) => {
  for (const state of ["unsynced", "syncing", "synced"] as const) {
    const syncs: ((error: Error | null) => void)[] = [];
    const [opened, closed]: [number[], number[]] = [[], []];
    const { disk: real } = systemMachine;
    const opening = (fd: number) => {
      opened.push(fd);
      return fd;
    };
    const disk: Disk = {
      ...real,
      syncSoon: (_, done) => syncs.push(done),
      create: (path) => opening(real.create(path)),
      open: (path) => opening(real.open(path)),
      close: (fd) => {
        closed.push(fd);
        real.close(fd);
      },
    };
    const machine = Object.assign(new ManualMachine(), { disk });
    const folder = mkdtempSync(join(tmpdir(), "tollgate-closes-"));
    const { log } = recordedLog();
    const options = { folder, bytesMax: 100_000, sync: false, log, machine };
    const before = await Journal.open(options);
    before.appendAll(["0"]);
    await before.close();
    for (const done of syncs.splice(0)) done(null);
    for (const name of readdirSync(folder))
      if (name.endsWith(".journal")) appendFileSync(join(folder, name), "half a li");
    const journal = await Journal.open(options);
    for (const done of syncs.splice(0)) done(null);
    journal.appendAll(["1"]);
    if (state !== "unsynced") await machine.advance(ROUND_MS);
    t.equal(syncs.length, state === "unsynced" ? 0 : 1);
    if (state === "synced") syncs[0]?.(null);
    const closing = journal.close();
    if (state === "syncing") {
      await machine.advance(ROUND_MS);
      t.not(closed.length, opened.length);
      syncs[0]?.(null);
    }
    await closing;
    t.equal(closed.length, opened.length, state);
    rmSync(folder, { recursive: true });
  }
});
