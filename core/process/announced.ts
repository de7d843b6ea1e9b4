import type { Log } from "./log.ts";

const EVERY_MS = 5_000;

/**
 * Waits for a step of the start, and logs every 5 s what it waits for, so that a start that takes long does not look
 * like a hang. Settles as `work` does.
 */
export async function announced<T>(
  log: Log,
  step: string,
  work: Promise<T>,
  reason?: () => string | undefined,
  everyMs = EVERY_MS,
): Promise<T> {
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const waitedMs = Math.round(performance.now() - startedMs);
    log.warn({ waitedMs, reason: reason?.() }, `starting: waiting for ${step}`);
  }, everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
