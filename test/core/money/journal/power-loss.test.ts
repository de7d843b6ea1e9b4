import t from "tap";
import { Journal } from "../../../../core/money/journal/journal.ts";
import { recordedLog } from "../../../support/log.ts";
import { Random } from "../../../support/random.ts";
import { SimulatedDisk } from "../../../world/disk.ts";
import { SimulatedProcess } from "../../../world/process.ts";
import { Scheduler } from "../../../world/scheduler.ts";

const FOLDER = "/data/journal";
const SYNC_MS = 1_000;

t.test("a journal on a disk that can lose its power or be full", async (t) => {
  let disk: SimulatedDisk;
  let scheduler: Scheduler;

  t.beforeEach(() => {
    const random = new Random(1);
    disk = new SimulatedDisk(random);
    scheduler = new Scheduler(random);
  });

  function start(name: string): SimulatedProcess {
    const random = new Random(2);
    const process = new SimulatedProcess({ name, scheduler, random, onStopped() {} });
    process.attach(disk.of(process));
    return process;
  }

  function open(machine: SimulatedProcess): Promise<Journal> {
    const { log } = recordedLog();
    return Journal.open({ folder: FOLDER, bytesMax: 100_000, sync: false, log, machine });
  }

  t.test(
    "opens after a kill and then a loss of power, with every record that the kill left",
    async (t) => {
      const killed = start("first");
      (await open(killed)).appendAll(['{"call":1}']);
      killed.kill();
      const next = start("second");
      t.equal((await open(next)).recovered.length, 1);
      next.kill();
      disk.losePower();
      t.equal((await open(start("third"))).recovered.length, 1);
    },
  );

  t.test(
    "keeps what was synced if its process is killed, and power fails before the next start",
    async (t) => {
      const killed = start("first");
      const journal = await open(killed);
      journal.appendAll(['{"call":1}']);
      scheduler.after(2 * SYNC_MS, "the test", () => {});
      await scheduler.run(() => scheduler.nowMs >= 2 * SYNC_MS);
      for (let call = 2; call < 50; call += 1) journal.appendAll([JSON.stringify({ call })]);
      killed.kill();
      disk.losePower();
      const { recovered } = await open(start("second"));
      t.equal(recovered[0]?.payload.toString(), '{"call":1}');
      t.ok(recovered.length < 49, "and loses some that were not");
    },
  );

  t.test(
    "loses no record if its process is killed, and power fails after a start on a full disk",
    async (t) => {
      const killed = start("first");
      (await open(killed)).appendAll(
        Array.from({ length: 50 }, (_, call) => JSON.stringify({ call })),
      );
      killed.kill();
      disk.freeBytes = 10;
      const next = start("second");
      await open(next);
      next.kill();
      disk.losePower();
      disk.empty();
      t.equal((await open(start("third"))).recovered.length, 50);
    },
  );
});
