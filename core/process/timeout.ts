import { type Machine, systemMachine, type Timer } from "./machine.ts";

/** Returned by `withTimeout` if the timeout fires before the work settles. */
export const TIMED_OUT = Symbol("timed out");

/**
 * Returns what `work` resolves with, or `TIMED_OUT` after `limitMs`. Rejects if `work` rejects in time. A timeout does
 * not stop the work; a later rejection is ignored. The timer never outlives the call.
 */
export async function withTimeout<T>(
  work: Promise<T>,
  limitMs: number,
  machine: Machine = systemMachine,
): Promise<T | typeof TIMED_OUT> {
  let timer: Timer | undefined;
  const timeout = new Promise<typeof TIMED_OUT>((resolve) => {
    timer = machine.after(limitMs, () => resolve(TIMED_OUT));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer?.close();
  }
}
