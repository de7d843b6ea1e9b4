import { setTimeout as delay } from "node:timers/promises";

/** The machine may be busy with everything else; whoever waits in vain waits this long. */
const WAIT_MS = 30_000;

/** Asks again until the answer is true; fails after half a minute. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await delay(10);
  }
}
