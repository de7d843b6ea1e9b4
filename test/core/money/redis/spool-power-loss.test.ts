import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { entryOf } from "../../../../core/money/entry.ts";
import { Spool } from "../../../../core/money/redis/spool.ts";
import { callOf } from "../../../../core/money/unreadable.ts";
import { recordedLog } from "../../../support/log.ts";
import { posting } from "../../../support/posting.ts";
import { Random } from "../../../support/random.ts";
import { SimulatedDisk } from "../../../world/disk.ts";
import { SimulatedProcess } from "../../../world/process.ts";
import { Scheduler } from "../../../world/scheduler.ts";

function post(callId: string, cost: number) {
  return entryOf("", posting({ callId, accountId: "A", costMicroVnd: cost }), cost, 0);
}

t.test(
  "a post that the spool took is there after a loss of power, and gone once done",
  async (t) => {
    const random = new Random(1);
    const disk = new SimulatedDisk(random);
    const scheduler = new Scheduler(random);
    const open = (name: string) => {
      const machine = new SimulatedProcess({ name, scheduler, random, onStopped() {} });
      machine.attach(disk.of(machine));
      const { log } = recordedLog();
      return Spool.open({ folder: "/data/spool", bytesMax: 100_000, log, machine }).then(
        (spool) => ({
          spool,
          losePower() {
            machine.kill();
            disk.losePower();
          },
        }),
      );
    };
    const first = await open("first");
    let kept = 0;
    for (const [callId, costMicroVnd] of [
      ["c1", 7],
      ["c2", 8],
    ] as const) {
      void first.spool.add(post(callId, costMicroVnd)).then(() => {
        kept += 1;
      });
    }
    await nextTurn();
    await scheduler.run(() => kept === 2);
    first.losePower();
    const second = await open("second");
    const found = second.spool.recovered;
    t.strictSame(
      found.map(({ entry }) => `${callOf(entry).callId} ${entry.chargedMicroVnd}`),
      ["c1 7", "c2 8"],
    );
    for (const post of found) post.drop();
    await second.spool.close();
    second.losePower();
    t.strictSame((await open("third")).spool.recovered, []);
  },
);

t.test("each process takes the first free folder, and those of the dead", async (t) => {
  const random = new Random(1);
  const disk = new SimulatedDisk(random);
  const scheduler = new Scheduler(random);
  const machines: SimulatedProcess[] = [];
  const open = () => {
    const name = `process ${machines.length}`;
    const machine = new SimulatedProcess({ name, scheduler, random, onStopped() {} });
    machine.attach(disk.of(machine));
    machines.push(machine);
    const { log } = recordedLog();
    return Spool.open({ folder: "/data/spool", bytesMax: 100_000, log, machine });
  };
  for (const callId of ["c0", "c1", "c2"]) void (await open()).add(post(callId, 0));
  await nextTurn();
  t.strictSame(
    [0, 1, 2, 3].map((at) => disk.hasFolder(`/data/spool/${at}`)),
    [true, true, true, false],
  );
  for (const machine of machines) machine.kill();
  const { recovered } = await open();
  t.strictSame(
    recovered.map(({ entry }) => callOf(entry).callId),
    ["c0", "c1", "c2"],
  );
});
