import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { TIMED_OUT, withTimeout } from "../../../core/process/timeout.ts";

t.test("work that settles in time gives its result or its rejection", async (t) => {
  t.equal(await withTimeout(Promise.resolve(7), 1_000), 7);
  await t.rejects(withTimeout(Promise.reject(new Error("no")), 1_000), /no/);
});

t.test("late work is abandoned, and its rejection does not end the process", async (t) => {
  let reject: (error: Error) => void = () => {};
  const work = new Promise<never>((_, no) => {
    reject = no;
  });
  t.equal(await withTimeout(work, 1), TIMED_OUT);
  reject(new Error("late"));
  await delay(1);
});

t.test("no timer stays behind to keep the process alive", async (t) => {
  const timers = () =>
    process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
  const before = timers();
  await withTimeout(Promise.resolve(), 60_000);
  t.equal(timers(), before);
});
