/** A process with a watchdog of short ticks, whose event loop stops in the way that its argument names. */
import { readSync } from "node:fs";
import { Watchdog } from "../../../core/process/watchdog.ts";

const TICK_MS = 100;
const watchdog = new Watchdog({ tickMs: TICK_MS, reportTicks: 3, endTicks: 9 });
const [, , how, armed] = process.argv;
if (armed === "armed") watchdog.arm();

function spin(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** Promises alone: no timer and no socket is served again. */
async function spinInPromises(): Promise<void> {
  while (await Promise.resolve(true));
}

setTimeout(() => {
  if (how === "promises") void spinInPromises();
  // Nothing is ever written to it.
  else if (how === "read") readSync(0, Buffer.alloc(1));
  // Far longer than either; the watchdog is not armed.
  else if (how === "start") spin(40 * TICK_MS);
  setTimeout(() => process.exit(0), 10 * TICK_MS);
}, 10 * TICK_MS);
setInterval(() => {}, 1_000);
