/**
 * Preloaded into a Node program. Appends each stall of its event loop as a line of JSON (`Stall`) to the file that its
 * own address names; `min` is the shortest that counts, in ms.
 *
 * A machine that runs something else makes stalls too. So each says for how long its thread ran, and for how long it
 * could have run but waited for a core: Linux counts both.
 */
import { appendFile } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";
import { threadTimes } from "./load/thread-times.ts";
import type { Stall } from "./stalls.ts";

/** Node reports collections some turns later. */
const COLLECTIONS_KNOWN_MS = 200;

const { searchParams } = new URL(import.meta.url);
const file = searchParams.get("file") ?? "";
const stallMs = Number(searchParams.get("min"));
const tickMs = Math.max(1, stallMs / 4);

if (isMainThread) watch();

function watch(): void {
  const read = threadTimes();
  const times = () => ({ atMs: performance.now(), ...read() });
  let collections: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ["gc"] });
  let found: (Omit<Stall, "collectedMs"> & { readonly fromMs: number; readonly toMs: number })[] =
    [];
  let last = times();
  setInterval(() => {
    const now = times();
    const lateMs = now.atMs - last.atMs - tickMs;
    if (lateMs > stallMs) {
      found.push({
        endedAt: Date.now(),
        lateMs,
        ranMs: now.ranMs - last.ranMs,
        waitedMs: now.waitedMs - last.waitedMs,
        fromMs: last.atMs,
        toMs: now.atMs,
      });
    }
    last = now;
  }, tickMs).unref();
  setInterval(() => {
    const until = performance.now() - COLLECTIONS_KNOWN_MS;
    const lines = found
      .filter(({ toMs }) => toMs < until)
      .map(({ fromMs, toMs, ...stall }) => {
        const within = collections.filter(
          ({ startTime }) => startTime >= fromMs && startTime < toMs,
        );
        const collectedMs = within.reduce((sum, { duration }) => sum + duration, 0);
        return `${JSON.stringify({ ...stall, collectedMs } satisfies Stall)}\n`;
      });
    found = found.filter(({ toMs }) => toMs >= until);
    const from = found[0]?.fromMs ?? until;
    collections = collections.filter(({ startTime }) => startTime >= from);
    if (lines.length > 0) appendFile(file, lines.join(""), () => {});
  }, COLLECTIONS_KNOWN_MS).unref();
}
