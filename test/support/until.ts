import { setTimeout as delay } from "node:timers/promises";

/** Generous, because the machine may be busy with other tests. */
const WAIT_MS = 120_000;

/** Polls until the condition is true; fails after two minutes. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await delay(10);
  }
}
