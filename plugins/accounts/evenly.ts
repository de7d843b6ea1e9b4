import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 250;

/**
 * Answers at the next full quarter of a second since the work began, so that a few milliseconds more or less
 * in the database tell nothing.
 */
export async function evenly<T>(work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  const elapsedMs = performance.now() - startedMs;
  await delay(STEP_MS - (elapsedMs % STEP_MS));
  return result;
}
