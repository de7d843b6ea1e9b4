/** What `withTimeout` returns if the time is over before the work. */
export const TIMED_OUT = Symbol("timed out");

/**
 * Returns what `work` resolves with, or `TIMED_OUT` after `limitMs`; rejects if `work` rejects in time. The work goes
 * on after a timeout, and a late rejection is ignored. The timer never outlives the call.
 */
export async function withTimeout<T>(
  work: Promise<T>,
  limitMs: number,
): Promise<T | typeof TIMED_OUT> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<typeof TIMED_OUT>((resolve) => {
    timer = setTimeout(resolve, limitMs, TIMED_OUT);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
