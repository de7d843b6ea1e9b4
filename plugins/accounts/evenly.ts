import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 250;

/**
 * Runs `work` and resolves at a multiple of 250 ms after its start, so that the response time does not reveal what the
 * database found.
 */
export async function evenly<T>(work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  const elapsedMs = performance.now() - startedMs;
  await delay(STEP_MS - (elapsedMs % STEP_MS));
  return result;
}
