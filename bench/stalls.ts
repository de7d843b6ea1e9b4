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
}

/** Returns the Node options that make a program write its stalls into a file. */
export function stallOptions(file: string): string[] {
  const watcher = pathToFileURL(join(built, "bench", "watch-stalls.js"));
  return ["--import", `${watcher}?${encodeURIComponent(file)}`];
}

/** Returns the stalls that ended at or after a time, in ms since 1970. */
export function stallsSince(file: string, since: number): Stall[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line): Stall => JSON.parse(line)).filter(({ endedAt }) => endedAt >= since);
}
