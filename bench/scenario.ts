import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import type { Children } from "./children.ts";
import { built } from "./targets.ts";

/** What the command line asks for. */
export interface Options {
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
  /** Folder for a CPU profile of the gateway. */
  readonly profileFolder?: string;
}

/** What makes Node write the gateway's CPU profile when it ends. */
export function nodeOptionsOf({ profileFolder }: Options): string[] {
  return profileFolder === undefined
    ? []
    : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`, "--cpu-prof-name=gateway.cpuprofile"];
}

/** One named measurement. It starts what it needs, prints a table and writes its results. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Left out unless it is named. */
  readonly onRequest?: boolean;
  run(children: Children, options: Options): Promise<void>;
}

/** Writes bench/results/<name>.json: the rows, and what they were measured on. */
export function writeResults(
  name: string,
  children: Children,
  options: Options,
  rows: readonly object[],
): void {
  const folder = join(built, "..", "bench", "results");
  mkdirSync(folder, { recursive: true });
  const machine = {
    processor: cpus()[0]?.model.trim(),
    cores: availableParallelism(),
    pinned: children.pinned,
    node: process.version,
  };
  const { rounds, seconds } = options;
  const measuredAt = new Date().toISOString();
  const results = { scenario: name, measuredAt, machine, rounds, secondsPerRound: seconds, rows };
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(results, null, 2)}\n`);
}
