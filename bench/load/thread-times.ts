import { openSync, readSync } from "node:fs";

/**
 * Returns a function that returns for how long this thread has run and for how long it has waited for a core, in ms.
 * Throws unless the system is Linux.
 */
export function threadTimes(): () => { readonly ranMs: number; readonly waitedMs: number } {
  const schedule = openSync("/proc/thread-self/schedstat", "r");
  const text = Buffer.alloc(64);
  return () => {
    const length = readSync(schedule, text, 0, text.length, 0);
    const [ranNs, waitedNs] = text.toString("latin1", 0, length).split(" ");
    return { ranMs: Number(ranNs) / 1e6, waitedMs: Number(waitedNs) / 1e6 };
  };
}
