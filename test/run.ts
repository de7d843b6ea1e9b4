import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import t from "tap";
import { packageRoot } from "../core/process/root.ts";
import { BUNDLED_MAIN, bundledMain } from "./support/bundled-main.ts";
import { startRunPostgres } from "./support/postgres.ts";
import { EndedChildren, processorSeconds } from "./support/processor-time.ts";
import { FILES_TOGETHER, type FileResults, ProcessResults } from "./support/tap-results.ts";
import { type TestProcess, testFolder, testProcesses } from "./support/test-processes.ts";
import { shortLivedFlags } from "./support/v8-flags.ts";

/** A file that hangs counts as a failure; it does not block the run. */
const FILE_TIMEOUT_MS = 1_800_000;
/** Four times the cores of a small machine: tests spend most of their time waiting. */
const PROCESSES_AT_ONCE = 8;
const LOW_PRIORITY = ["nice", "-n", "10"];
const BUSIEST_SHOWN = 40;
const SHORT_FAILURE_LENGTH = 1_500;
/** The program that runs test files. */
const TOGETHER = join(testFolder, "support", "together.js");

/** The counts of V8, in a file for each process that ended by itself. */
const coverageFolder = join(packageRoot, ".tap", "coverage");

const HELP = `npm test [-- PART…] [--thorough] [--coverage]

All tests, or the files whose names have one of these parts.`;
const LEFT_OUT =
  "`npm test -- --thorough` also runs the longest tests, and more under the other supported Node.";

interface Finished extends FileResults {
  readonly name: string;
  readonly ms: number;
  /** Of the file's process and what it started; of a process that outlives the file, the next file has the rest. */
  readonly processorSeconds: number;
}

/**
 * `npm test`: tap runs the test files under this Node. Ends with `N passed, N failed`; exits 1 on any failure.
 *
 * The listener is also tested under the other supported line of Node, which is a development dependency. With
 * `--thorough`, all that depends on Node is, and tests that take long run too.
 *
 * Arguments are parts of file names: `npm test -- alias sse` runs the matching files only, under this Node. With
 * `--coverage`, V8 counts what these files cover of `core` and `plugins`.
 */
async function main(): Promise<void> {
  // Else tap ends the run after 30 s without a test, and on a busy machine Postgres takes longer to start.
  t.setTimeout(0);
  if (process.argv.includes("--help")) return console.log(HELP);
  const isMeasured = process.argv.includes("--coverage");
  const parts = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  const isThorough = process.argv.includes("--thorough");
  const processes = testProcesses({ parts, isThorough });
  const postgres = await startRunPostgres();
  const env = { ...process.env, ...postgres.env, TAP_TIMEOUT: String(FILE_TIMEOUT_MS / 1000) };
  if (isThorough) Object.assign(env, { TOLLGATE_THOROUGH: "1" });
  // The others start gateways as they are shipped: a run of a few files, and the other Node of a thorough one.
  const main = isMeasured || parts.length > 0 ? undefined : await bundledMain();
  const ownEnv = main === undefined ? env : { ...env, [BUNDLED_MAIN]: main };
  if (isMeasured) Object.assign(env, { NODE_V8_COVERAGE: emptyCoverageFolder() });
  const finished = await runAll(processes, (node) => (node === process.execPath ? ownEnv : env));
  const clock = new EndedChildren();
  await postgres.stop();
  tellBusiest(finished, clock.sinceLast());
  const failures = finished.flatMap(({ name, failures }) =>
    failures.map((failure) => `${name}: ${failure.name}\n${indented(failure.why)}`),
  );
  if (failures.length > 0) console.log(`\nfailed:\n${failures.join("\n")}`);
  if (isMeasured) await reportCoverage();
  const [passed, failed, skipped] = (["passed", "failed", "skipped"] as const).map((count) =>
    finished.reduce((sum, file) => sum + file[count], 0),
  );
  if (!isThorough && parts.length === 0) console.log(`\n${LEFT_OUT}`);
  console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
  process.exitCode = failed || !passed ? 1 : 0;
}

/** Runs `PROCESSES_AT_ONCE` at a time; prints the result of each file, and how far the run is. */
async function runAll(
  processes: readonly TestProcess[],
  envOf: (node: string) => NodeJS.ProcessEnv,
): Promise<Finished[]> {
  const startedMs = performance.now();
  const files = processes.reduce((sum, { paths }) => sum + paths.length, 0);
  const finished: Finished[] = [];
  const finish = (file: Finished) => {
    finished.push(file);
    const progress = `${finished.length} of ${files} files, ${minutes(performance.now() - startedMs)}`;
    console.log(`${file.failed > 0 ? "not ok" : "ok"} ${file.name} (${progress})`);
    // Also now: a reader may have only this part of the output.
    for (const failure of file.failures) console.log(indented(shortened(failure)));
  };
  // Hides the output of tap itself; its exit status and signals stay.
  t.register();
  t.resume();
  t.jobs = PROCESSES_AT_ONCE;
  const running = endingWithThisProcess();
  const clock = new EndedChildren();
  const runs = processes.map(async ({ node, version, paths, isSimulated }) => {
    const [first = ""] = paths;
    // Without the loader that tap adds to NODE_OPTIONS: every gateway would inherit it, at 0.4 s
    // each.
    const command = [
      ...(isSimulated ? LOW_PRIORITY : []),
      "env",
      "NODE_OPTIONS=",
      `${FILES_TOGETHER}=${paths.join()}`,
      node,
      ...(isSimulated ? [] : shortLivedFlags(version)),
      TOGETHER,
      first,
    ];
    const options = {
      env: envOf(node),
      timeout: FILE_TIMEOUT_MS * paths.length,
      buffered: true,
    };
    const [program = "", ...args] = command;
    if (isSimulated) t.jobs += 1;
    const run = t.spawn(program, args, options, `${version}, ${first}`);
    const { subtest } = run;
    if (!subtest) throw new Error(`${first} is not run`);
    let beganMs = 0;
    let usedBefore = 0;
    let used = () => 0;
    const follow = (child: ChildProcess) => {
      beganMs = performance.now();
      running.add(child);
      used = () => processorSeconds(child.pid);
      child.once("exit", () => {
        running.delete(child);
        const seconds = clock.sinceLast();
        used = () => seconds;
      });
    };
    // The first processes have begun already.
    if (subtest.proc) follow(subtest.proc);
    else subtest.on("process", follow);
    const results = new ProcessResults(subtest.parser, paths, (file) => {
      const endedMs = performance.now();
      const name = `Node ${version}, ${file.path}`;
      finish({ ...file, name, ms: endedMs - beganMs, processorSeconds: used() - usedBefore });
      beganMs = endedMs;
      usedBefore = used();
    });
    await run;
    if (isSimulated) t.jobs -= 1;
    results.end(subtest.options.signal ?? subtest.options.exitCode ?? undefined);
  });
  await Promise.all(runs);
  return finished;
}

/** By processor time: how long a file takes depends on those that run beside it. */
function tellBusiest(finished: readonly Finished[], ofPostgres: number): void {
  const busiest = finished
    .toSorted((one, other) => other.processorSeconds - one.processorSeconds)
    .slice(0, BUSIEST_SHOWN)
    .map(({ name, ms, processorSeconds }) => {
      return `${processorSeconds.toFixed(1)} s (in ${(ms / 1000).toFixed(1)} s) ${name}`;
    });
  const seconds = finished.reduce((sum, { processorSeconds }) => sum + processorSeconds, 0);
  const sum = `processor time: ${seconds.toFixed(0)} s, and ${ofPostgres.toFixed(0)} s of the shared Postgres`;
  console.log(`\n${sum}; the most:\n${busiest.join("\n")}`);
}

function minutes(ms: number): string {
  return ms < 60_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.ceil(ms / 60_000)} min`;
}

/** The beginning of a failure; the end of the run has all of it. */
function shortened({ name, why }: FileResults["failures"][number]): string {
  return `${name}\n${indented(why.slice(0, SHORT_FAILURE_LENGTH))}`;
}

function indented(text: string): string {
  return text.replace(/^/gm, "  ");
}

/** Processes of test files. They end with the run; their servers end by watchdogs. */
function endingWithThisProcess(): Set<ChildProcess> {
  const running = new Set<ChildProcess>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      for (const child of running) child.kill("SIGKILL");
      process.exit(1);
    });
  }
  return running;
}

function emptyCoverageFolder(): string {
  rmSync(coverageFolder, { recursive: true, force: true });
  return coverageFolder;
}

/**
 * Coverage is a figure to read, not a threshold. `tap report` would keep what all processes wrote in memory, several MB
 * of each; its library can add one to the other.
 */
async function reportCoverage(): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve("c8/package.json");
  const program = join(dirname(manifest), "bin", "c8.js");
  const sources = ["--exclude-after-remap", "--include=core/**", "--include=plugins/**"];
  const options = [`--temp-directory=${coverageFolder}`, "--merge-async", ...sources];
  const report = spawn(
    process.execPath,
    [program, "report", "--reporter=text-summary", ...options],
    {
      cwd: packageRoot,
      stdio: "inherit",
    },
  );
  await once(report, "exit");
}

await main();
