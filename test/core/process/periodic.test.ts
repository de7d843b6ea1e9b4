import t from "tap";
import { PeriodicTask } from "../../../core/process/periodic.ts";
import { until } from "../../support/until.ts";

const HOUR_MS = 3_600_000;

t.test("a hurried task runs again at once, then waits again", async (t) => {
  let rounds = 0;
  const task = new PeriodicTask(async () => {
    rounds += 1;
    return HOUR_MS;
  });
  task.start();
  await until("it waits after the first run", () => rounds === 1);
  task.hurry();
  await until("it has run again", () => rounds === 2);
  await task.stop();
  t.equal(rounds, 2);
});

t.test("a stop waits for the current run, and no run follows", async (t) => {
  const log: string[] = [];
  let finish = () => {};
  const task = new PeriodicTask(async () => {
    log.push("run");
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    log.push("end");
    return 0;
  });
  task.start();
  const stopped = task.stop().then(() => log.push("stopped"));
  finish();
  await stopped;
  t.strictSame(log, ["run", "end", "stopped"]);
});
