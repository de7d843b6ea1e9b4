import t, { type Test } from "tap";
import { Random } from "../support/random.ts";
import { SimulatedProcess } from "./process.ts";
import { Scheduler } from "./scheduler.ts";

t.test("a simulated process", async (t) => {
  t.test("that is frozen again is frozen from the first time on", async (t) => {
    const { scheduler, process } = simulated(t);
    const runsFrom: number[] = [];
    const look = (atMs: number) => runsFrom.push(process.runsFrom(atMs));
    scheduler.after(10, "freeze", () => process.freeze());
    scheduler.after(30, "freeze again", () => process.freeze());
    scheduler.after(40, "look", () => {
      look(5);
      look(20);
    });
    scheduler.after(50, "thaw", () => process.thaw());
    scheduler.after(60, "look", () => look(20));
    await scheduler.run(() => runsFrom.length === 3);
    t.strictSame(runsFrom, [5, Number.POSITIVE_INFINITY, 50]);
  });

  t.test("that died while it was frozen never ran again", async (t) => {
    const { scheduler, process } = simulated(t);
    scheduler.after(10, "freeze", () => process.freeze());
    scheduler.after(100, "kill", () => process.kill());
    scheduler.after(200, "thaw", () => process.thaw());
    let isOver = false;
    scheduler.after(210, "over", () => {
      isOver = true;
    });
    await scheduler.run(() => isOver);
    t.equal(process.ranFor(50, 40), false);
    t.equal(process.runsFrom(40), Number.POSITIVE_INFINITY);
  });
});

function simulated(t: Test) {
  const random = new Random(1);
  const scheduler = new Scheduler(random);
  const process = new SimulatedProcess({ name: "g1", scheduler, random, onStopped: t.fail });
  return { scheduler, process };
}
