import { recordedLog } from "../../support/log.ts";
import { Random } from "../../support/random.ts";
import { SimulatedDisk } from "../../world/disk.ts";
import { SimulatedProcess } from "../../world/process.ts";
import { Scheduler } from "../../world/scheduler.ts";

const PART_MS = 100;

/** A process on a simulated machine, whose disk can be full. */
export function simulatedMachine() {
  const random = new Random(1);
  const disk = new SimulatedDisk(random);
  const scheduler = new Scheduler(random);
  /** Returns the next process on the same disk. */
  const next = (name: string) => {
    const machine = new SimulatedProcess({ name, scheduler, random, onStopped() {} });
    machine.attach(disk.of(machine));
    return machine;
  };
  const machine = next("gateway");
  const { log, lines } = recordedLog();
  /** Runs the simulated time; calls `look` every tenth of a second. */
  const pass = async (ms: number, look = () => {}) => {
    for (const endMs = scheduler.nowMs + ms; scheduler.nowMs < endMs; ) {
      const untilMs = scheduler.nowMs + PART_MS;
      scheduler.after(PART_MS, "the test", () => {});
      await scheduler.run(() => scheduler.nowMs >= untilMs);
      look();
    }
  };
  /** Runs the simulated time until this is done. */
  const ended = async <Result>(work: Promise<Result>): Promise<Result> => {
    let isDone = false;
    const mark = () => {
      isDone = true;
    };
    work.then(mark, mark);
    scheduler.after(0, "the test", () => {});
    await scheduler.run(() => isDone);
    return work;
  };
  const errors = () => lines.filter(({ level }) => level === 50).length;
  return { disk, scheduler, machine, next, log, lines, pass, ended, errors };
}
