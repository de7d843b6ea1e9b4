import { setTimeout as delay } from "node:timers/promises";

/** Generous: the machine may be busy with other tests, and what was refused twice is tried again after two minutes. */
const WAIT_MS = 240_000;
const PAUSE_MS_MIN = 5;
const PAUSE_MS_MAX = 50;

/**
 * Polls until the condition is true; fails after four minutes. The pauses grow, because a poll of a gateway costs
 * processor time in two processes, and what they wait for takes that time too.
 */
export async function until(
  what: string | (() => string),
  holds: () => Promise<boolean> | boolean,
): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  for (let pauseMs = PAUSE_MS_MIN; !(await holds()); pauseMs *= 2) {
    if (performance.now() > deadline) {
      throw new Error(`timed out waiting until ${typeof what === "string" ? what : what()}`);
    }
    await delay(Math.min(pauseMs, PAUSE_MS_MAX));
  }
}
