/**
 * Runs a watchdog with short ticks, and blocks the event loop in the way that its argument names.
 */
import { readSync } from "node:fs";
import { Watchdog } from "../../../core/process/watchdog.ts";

const TICK_MS = 100;
const [, , how, armed, schedstat] = process.argv;
const watchdog = new Watchdog({
  tickMs: TICK_MS,
  reportTicks: 3,
  endTicks: 9,
  // Longer than the longest block, unless the start is to be ended.
  startTicks: armed === "starting" ? 12 : 400,
  ...(schedstat && { schedstat }),
});
if (armed === "armed") watchdog.arm();

function spin(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** Only promises run, so no timer and no socket is served. */
async function spinInPromises(): Promise<void> {
  while (await Promise.resolve(true));
}

setTimeout(() => {
  // On a busy machine the start may stall too, and be reported before this.
  if (how !== "idle" && !schedstat) console.log(JSON.stringify({ msg: "blocks" }));
  if (how === "promises") void spinInPromises();
  // No input ever arrives.
  else if (how === "read") readSync(0, Buffer.alloc(1));
  // Far longer than both limits.
  else if (how === "long") spin(40 * TICK_MS);
  setTimeout(() => process.exit(0), 10 * TICK_MS);
}, 10 * TICK_MS);
setInterval(() => {}, 1_000);
