import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { built } from "./targets.ts";

/** A time in which the event loop of a program did not turn. */
export interface Stall {
  /** Ms since 1970. */
  readonly endedAt: number;
  readonly lateMs: number;
  /** Processor time of the thread since the last turn. */
  readonly ranMs: number;
  /** For how long the thread waited for a core. */
  readonly waitedMs: number;
  /** For how long V8 collected garbage; part of `ranMs`, but for the work of its other threads. */
  readonly collectedMs: number;
}

/** Returns the Node options that make a program write its stalls of at least `minMs` into a file. */
export function stallOptions(file: string, minMs: number): string[] {
  const watcher = pathToFileURL(join(built, "bench", "watch-stalls.js"));
  watcher.search = String(new URLSearchParams({ file, min: String(minMs) }));
  return ["--import", watcher.href];
}

/** Returns the stalls that ended at or after a time, in ms since 1970. */
export function stallsSince(file: string, since: number): Stall[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line): Stall => JSON.parse(line)).filter(({ endedAt }) => endedAt >= since);
}

/** The upper ends of the histogram's columns, in ms. */
const COLUMNS_MS = [5, 10, 20, 50, Number.POSITIVE_INFINITY];
const CAUSES = {
  "waited for the core": ({ waitedMs }: Stall) => waitedMs,
  "collected garbage": ({ collectedMs }: Stall) => collectedMs,
  "ran a long turn": ({ ranMs, collectedMs }: Stall) => ranMs - collectedMs,
  "blocked, such as on a disk": ({ lateMs, ranMs, waitedMs }: Stall) => lateMs - ranMs - waitedMs,
} satisfies Readonly<Record<string, (stall: Stall) => number>>;

/** Returns rows for a table: stalls by their length and by what took most of each. */
export function histogramOf(stalls: readonly Stall[]): Record<string, string>[] {
  const causeOf = (stall: Stall) =>
    Object.entries(CAUSES).reduce((most, each) => (each[1](stall) > most[1](stall) ? each : most));
  return Object.entries(CAUSES).map((cause) => {
    const own = stalls.filter((stall) => causeOf(stall)[0] === cause[0]);
    const cells: Record<string, string> = { "stalls of the gateway": cause[0] };
    for (const [at, end] of COLUMNS_MS.entries()) {
      const begin = COLUMNS_MS[at - 1] ?? 0;
      const count = own.filter(({ lateMs }) => lateMs > begin && lateMs <= end).length;
      cells[Number.isFinite(end) ? `to ${end} ms` : "longer"] = String(count);
    }
    const longest = Math.max(0, ...own.map(({ lateMs }) => lateMs));
    return { ...cells, "longest, ms": longest.toFixed(1) };
  });
}
