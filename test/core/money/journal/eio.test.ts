import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Journal, type JournalOptions } from "../../../../core/money/journal/journal.ts";
import type { Disk } from "../../../../core/process/disk.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { recordedLog } from "../../../support/log.ts";
import { Random } from "../../../support/random.ts";
import { SimulatedDisk } from "../../../world/disk.ts";
import { SimulatedProcess } from "../../../world/process.ts";
import { Scheduler } from "../../../world/scheduler.ts";
import { ManualMachine } from "../manual-machine.ts";

const FOLDER = "/data/journal";
const CANNOT_SYNC = /cannot sync/;
/** The journal syncs, and tries to end a failure, each second. */
const ROUND_MS = 1_000;

interface Parts {
  readonly journal: Journal;
  /** From now on syncs fail, and the kernel drops the data that they should have written. */
  fail(): void;
  recover(): void;
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
  const random = new Random(1);
  const site = new SimulatedDisk(random);
  const scheduler = new Scheduler(random);
  let starts = 0;
  const start = () => {
    starts += 1;
    const name = `process ${starts}`;
    const machine = new SimulatedProcess({ name, scheduler, random, onStopped() {} });
    machine.attach(site.of(machine));
    return machine;
  };
  const open = (machine: SimulatedProcess) => {
    const { log } = recordedLog();
    const wanted = { folder: FOLDER, bytesMax: 100_000, sync: false, ...options };
    return Journal.open({ ...wanted, log, machine });
  };
  let last = start();
  const again = async () => {
    last.kill();
    last = start();
    return (await open(last)).recovered.map(({ payload }) => payload);
  };
  await body({
    journal: await open(last),
    fail: () => site.failSyncs(scheduler.nowMs),
    recover: () => site.endFailedSyncs(scheduler.nowMs),
    pass: (rounds) => {
      const endMs = scheduler.nowMs + rounds * ROUND_MS + ROUND_MS / 2;
      scheduler.after(endMs - scheduler.nowMs, "the test", () => {});
      return scheduler.run(() => scheduler.nowMs >= endMs);
    },
    afterKill: again,
    afterPowerLoss: () => {
      last.kill();
      site.losePower();
      return again();
    },
  });
}

function refuses(t: Test, journal: Journal): void {
  t.match(journal.refusal(1) ?? "", CANNOT_SYNC);
  t.throws(() => journal.append("refused"), CANNOT_SYNC);
}

t.test("calls go on after a failed sync in the background, and its records are not lost", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.append("1");
    fail();
    await pass(1);
    refuses(t, journal);
    recover();
    await pass(1);
    t.equal(journal.refusal(1), undefined);
    journal.append("2");
    await pass(1);
    t.strictSame(await afterKill(), ["1", "2"]);
    t.strictSame(await afterPowerLoss(), ["1", "2"]);
  }),
);

t.test("a segment that could not be synced at its end is not trusted", (t) =>
  inWorld({ segmentBytes: 10 }, async ({ fail, recover, journal, pass, afterPowerLoss }) => {
    journal.append("1");
    fail();
    t.throws(() => journal.append("refused"), CANNOT_SYNC);
    recover();
    refuses(t, journal);
    await pass(1);
    journal.append("2");
    await pass(1);
    t.strictSame(await afterPowerLoss(), ["1", "2"]);
  }),
);

t.test("records are refused until a new segment is on the disk", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.append("1");
    await pass(1);
    journal.append("2");
    journal.append("3");
    fail();
    await pass(4);
    refuses(t, journal);
    recover();
    await pass(1);
    t.equal(journal.append("4"), 4);
    await pass(1);
    t.strictSame(await afterKill(), ["1", "2", "3", "4"]);
    t.strictSame(await afterPowerLoss(), ["1", "2", "3", "4"]);
  }),
);

t.test("a kill after a failed sync loses nothing", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill }) => {
    journal.append("1");
    fail();
    await pass(2);
    refuses(t, journal);
    recover();
    t.strictSame(await afterKill(), ["1"]);
  }),
);

t.test("a record that was refused because its sync failed does not come back", (t) =>
  inWorld({ sync: true }, async ({ fail, recover, journal, pass, afterPowerLoss }) => {
    journal.append("1");
    fail();
    t.throws(() => journal.append("refused"), CANNOT_SYNC);
    recover();
    refuses(t, journal);
    await pass(1);
    t.equal(journal.append("2"), 2);
    t.strictSame(await afterPowerLoss(), ["1", "2"]);
  }),
);

t.test("nor after a kill before the disk recovers", (t) =>
  inWorld({ sync: true }, async ({ fail, recover, journal, afterKill }) => {
    journal.append("1");
    fail();
    t.throws(() => journal.append("refused"), CANNOT_SYNC);
    recover();
    t.strictSame(await afterKill(), ["1"]);
  }),
);

t.test("a journal that is closed on a disk that fails releases its folder", (t) =>
  inWorld({}, async ({ fail, recover, journal, afterKill }) => {
    journal.append("1");
    fail();
    await t.rejects(journal.close(), /cannot sync the journal/);
    recover();
    t.strictSame(await afterKill(), ["1"]);
  }),
);

t.test("a start trusts no file of a process that died after a failed sync", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.append("1");
    fail();
    await pass(1);
    recover();
    t.strictSame(await afterKill(), ["1"]);
    t.strictSame(await afterPowerLoss(), ["1"]);
  }),
);

t.test("a journal opens on a disk that fails, and its records are synced later", (t) =>
  inWorld({}, async ({ fail, recover, journal, pass, afterKill, afterPowerLoss }) => {
    journal.append("1");
    fail();
    t.strictSame(await afterKill(), ["1"]);
    recover();
    await pass(1);
    t.strictSame(await afterPowerLoss(), ["1"]);
  }),
);

t.test("a new file that cannot be synced is not used", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-eio-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const machine = new ManualMachine();
  let isFailing = false;
  const fail = () => {
    if (isFailing) throw new Error("EIO");
  };
  const disk: Disk = {
    ...systemMachine.disk,
    sync: (fd) => {
      fail();
      systemMachine.disk.sync(fd);
    },
    syncSoon: (_, done) => setImmediate(done, isFailing ? new Error("EIO") : null),
  };
  const journal = await Journal.open({
    ...{ folder: join(folder, "journal"), bytesMax: 100_000, sync: true },
    ...{ log: recordedLog().log, machine: Object.assign(machine, { disk }) },
  });
  journal.append("1");
  isFailing = true;
  t.throws(() => journal.append("2"), CANNOT_SYNC);
  await machine.advance(10_000);
  t.match(journal.refusal(1), CANNOT_SYNC);
  isFailing = false;
  await machine.advance(1_000);
  t.equal(journal.refusal(1), undefined);
  await journal.close();
});

t.test("a slow disk gets one sync at a time", async (t) => {
  const syncs: ((error: Error | null) => void)[] = [];
  const syncSoon: Disk["syncSoon"] = (_, done) => syncs.push(done);
  const machine = Object.assign(new ManualMachine(), { disk: { ...systemMachine.disk, syncSoon } });
  const folder = mkdtempSync(join(tmpdir(), "tollgate-syncs-"));
  const { log } = recordedLog();
  const journal = await Journal.open({ folder, bytesMax: 100_000, sync: false, log, machine });
  for (const record of ["1", "2", "3"]) {
    journal.append(record);
    await machine.advance(ROUND_MS);
  }
  t.equal(syncs.length, 1);
  syncs[0]?.(null);
  await machine.advance(ROUND_MS);
  t.equal(syncs.length, 2, "the records since then get the next");
  syncs[1]?.(null);
  await machine.advance(3 * ROUND_MS);
  t.equal(syncs.length, 2, "nothing is left to sync");
  await journal.close();
  rmSync(folder, { recursive: true });
});

t.test("a file that is being synced is closed after that, any other at once", async (t) => {
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
    before.append("0");
    await before.close();
    for (const name of readdirSync(folder))
      if (name.endsWith(".journal")) appendFileSync(join(folder, name), "half a li");
    const journal = await Journal.open(options);
    journal.append("1");
    if (state !== "unsynced") await machine.advance(ROUND_MS);
    t.equal(syncs.length, state === "unsynced" ? 0 : 1);
    if (state === "synced") syncs[0]?.(null);
    await journal.close();
    t.equal(closed.length, opened.length - (state === "syncing" ? 1 : 0), state);
    if (state === "syncing") syncs[0]?.(null);
    t.equal(closed.length, opened.length, state);
    rmSync(folder, { recursive: true });
  }
});
