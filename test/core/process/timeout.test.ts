import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TIMED_OUT, withTimeout } from "../../../core/process/timeout.ts";

test("work that ends in time is returned, or its rejection", async () => {
  assert.equal(await withTimeout(Promise.resolve(7), 1_000), 7);
  await assert.rejects(withTimeout(Promise.reject(new Error("no")), 1_000), /no/);
});

test("work that takes longer is left, and its late rejection ends no process", async () => {
  let reject: (error: Error) => void = () => {};
  const work = new Promise<never>((_, no) => {
    reject = no;
  });
  assert.equal(await withTimeout(work, 1), TIMED_OUT);
  reject(new Error("late"));
  await delay(1);
});

test("no timer is left behind that would keep a process alive", async () => {
  const timers = () =>
    process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
  const before = timers();
  await withTimeout(Promise.resolve(), 60_000);
  assert.equal(timers(), before);
});
