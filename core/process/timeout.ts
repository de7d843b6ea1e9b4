import { type Machine, systemMachine, type Timer } from "./machine.ts";

/** What `withTimeout` returns if the time is over before the work. */
export const TIMED_OUT = Symbol("timed out");

/**
 * Returns what `work` resolves with, or `TIMED_OUT` after `limitMs`; rejects if `work` rejects in time. The work goes
 * on after a timeout, and a late rejection is ignored. The timer never outlives the call.
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
