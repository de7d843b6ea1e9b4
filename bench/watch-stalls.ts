/**
 * Preloaded into a Node program. Appends each stall of its event loop as a line of JSON (`Stall`) to the file that its
 * own address names after the question mark.
 *
 * A machine that runs something else makes stalls too. So each says for how long its thread ran, and for how long it
 * could have run but waited for a core: Linux counts both.
 */
import { appendFileSync, openSync, readSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import type { Stall } from "./stalls.ts";

const TICK_MS = 5;
/** Shorter ones are not written. */
const STALL_MS = 20;
const file = decodeURIComponent(new URL(import.meta.url).search.slice(1));

if (isMainThread) watch();

function watch(): void {
  const schedule = openSync("/proc/thread-self/schedstat", "r");
  const text = Buffer.alloc(64);
  /** Returns the time for which this thread has run, and for which it has waited for a core. */
  const times = () => {
    const length = readSync(schedule, text, 0, text.length, 0);
    const [ranNs, waitedNs] = text.toString("latin1", 0, length).split(" ");
    return {
      atMs: performance.now(),
      ranMs: Number(ranNs) / 1e6,
      waitedMs: Number(waitedNs) / 1e6,
    };
  };
  let last = times();
  setInterval(() => {
    const now = times();
    const lateMs = now.atMs - last.atMs - TICK_MS;
    if (lateMs > STALL_MS) {
      const ranMs = now.ranMs - last.ranMs;
      const stall: Stall = {
        endedAt: Date.now(),
        lateMs,
        ranMs,
        waitedMs: now.waitedMs - last.waitedMs,
      };
      appendFileSync(file, `${JSON.stringify(stall)}\n`);
    }
    last = now;
  }, TICK_MS).unref();
}
