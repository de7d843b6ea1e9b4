import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import type { Children } from "./children.ts";
import { built } from "./targets.ts";

/** Options of the command line. */
export interface Options {
  readonly rounds: number;
  /** Length of a round in seconds. */
  readonly seconds: number;
  /** Folder for a CPU profile of the gateway. */
  readonly profileFolder?: string;
  /** The folder of another build, measured beside this one. */
  readonly against?: string;
  /** Sizes of requests in KB, for the scenarios that measure several. */
  readonly sizesKb?: readonly number[];
  /** Reasons to doubt every figure of this machine. */
  readonly warnings: readonly string[];
}

/** Returns the Node options that write the CPU profile of each thread of the gateway at exit. */
export function nodeOptionsOf({ profileFolder }: Options): string[] {
  return profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
}

/** A named measurement. It starts its processes, prints a table and writes its results. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Runs only if it is named on the command line. */
  readonly onRequest?: boolean;
  /** Its rounds cannot be set. */
  readonly hasOwnRounds?: boolean;
  run(children: Children, options: Options): Promise<void>;
}

/** The folder of results, `bench/results`. */
export const resultsFolder = join(built, "..", "bench", "results");

/** Writes the rows and a description of the machine to bench/results/<name>.json. */
export function writeResults(
  name: string,
  children: Children,
  options: Options,
  rows: readonly object[],
): void {
  mkdirSync(resultsFolder, { recursive: true });
  const machine = {
    processor: cpus()[0]?.model.trim(),
    cores: availableParallelism(),
    pinned: children.pinned,
    warnings: options.warnings,
    node: process.version,
    commit: commitOf(),
  };
  const { rounds, seconds } = options;
  const measuredAt = new Date().toISOString();
  const results = { scenario: name, measuredAt, machine, rounds, secondsPerRound: seconds, rows };
  writeFileSync(join(resultsFolder, `${name}.json`), `${JSON.stringify(results, null, 2)}\n`);
}

/** Returns the commit that is measured, or undefined without Git. */
function commitOf(): string | undefined {
  const { stdout, status } = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: built });
  return status === 0 ? stdout.toString().trim() : undefined;
}
