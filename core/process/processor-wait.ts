import { readFileSync } from "node:fs";

/** The scheduler's statistics of this process's main thread, on Linux. */
export const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`;

const NS_PER_MS = 1e6;

/**
 * Returns a function that says how many ticks have passed since its last call, less those in which the thread of a
 * `schedstat` file could run and had no processor. At most 1: the calls themselves are late if the process was stopped,
 * or has no processor either. Less than 0 if the file counts at once a wait that has lasted for several calls. Without
 * the file, on other systems, nothing is subtracted.
 */
export function ticksWithProcessor(file: string, tickMs: number): () => number {
  let last = { atMs: performance.now(), waitedMs: waitedMs(file) };
  return () => {
    const now = { atMs: performance.now(), waitedMs: waitedMs(file) };
    const ms = now.atMs - last.atMs - (now.waitedMs - last.waitedMs);
    last = now;
    return Math.min(1, ms / tickMs);
  };
}

/** Returns how long the thread has waited for a processor, in ms: the second number of the file. */
function waitedMs(file: string): number {
  try {
    return Number(readFileSync(file, "utf8").split(" ")[1] ?? 0) / NS_PER_MS;
  } catch {
    return 0;
  }
}
