import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { wholeOption } from "../../bench/number-options.ts";
import { parseArguments, refuseArguments } from "../../core/process/command-line.ts";
import { packageRoot } from "../../core/process/root.ts";
import { startRunPostgres } from "../support/postgres.ts";
import { Random } from "../support/random.ts";
import { Coverage } from "./coverage.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";
import { type Place, placeOf } from "./place.ts";
import { Sandbox, type TestCommand } from "./sandbox.ts";
import { reasonFor } from "./unobservable.ts";

/**
 * `npm run mutate -- plugins/meter` changes the compiled code below the paths in one small place at a time, and counts
 * how many of these changes make a test fail. Prints each change that no test noticed. README.md has the arguments.
 *
 * The tests: those of the same folders, 20 seeds of the simulated world, and those that `--tests` names. Each runs once
 * without a change, to learn what it covers and how long it takes. A mutant gets the tests that cover it, the most
 * promising for their time first, until one fails.
 */
const HELP = `npm run mutate -- [options] PATH…: lists small changes below these folders or files that no test notices

  --sample N       how many mutants (50)
  --seed S         the seed that draws them (1)
  --from N         the first mutant of the sample (1)
  --tests NAMES    parts of the names of further test files, with commas between them
  --slowest S      leaves out tests that take more seconds (60)
  --only PLACES    only those of the sample at these places: wallets.ts:120,entry.ts:7
  --jobs N         mutants at a time (1)
  --list           prints the sample and runs nothing`;

const { values, positionals } = parseArguments(HELP, {
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    sample: { type: "string", default: "50" },
    from: { type: "string", default: "1" },
    jobs: { type: "string", default: "1" },
    tests: { type: "string", default: "" },
    slowest: { type: "string", default: "60" },
    only: { type: "string" },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const numbers = {
  seed: wholeOption(HELP, "seed", values.seed),
  sample: wholeOption(HELP, "sample", values.sample),
  from: wholeOption(HELP, "from", values.from),
  jobs: wholeOption(HELP, "jobs", values.jobs),
  slowest: wholeOption(HELP, "slowest", values.slowest),
};

const WORLD: TestCommand = {
  name: "20 seeds of the simulated world",
  args: ["dist/test/world/index.js", "--seeds", "20", "--first"],
};
const BASELINE_TIMEOUT_MS = 900_000;
/** A test under a mutant may take this many times as long as without; the machine may be busy. */
const TIMEOUT_TIMES = 8;
const TIMEOUT_LEAST_MS = 40_000;

interface KnownTest extends TestCommand {
  readonly ms: number;
  readonly coverage: Coverage;
  /** Mutants that it was tried with, and those that it noticed. */
  tried: number;
  noticed: number;
}

type Sampled = Mutant & Place;

interface Result extends Place {
  readonly kind: "killed" | "timeout" | "survived" | "uncovered" | "unobservable";
  readonly why: string;
}

async function main(): Promise<void> {
  const sources = filesBelow(positionals);
  const sample = sampleOf(sources);
  if (values.list) {
    for (const mutant of sample) console.log(shownPlace(mutant));
    return;
  }
  const postgres = await startRunPostgres();
  const sandboxes = Array.from({ length: numbers.jobs }, () => new Sandbox(postgres.env));
  const stop = async () => {
    for (const sandbox of sandboxes) sandbox.remove();
    await postgres.stop();
  };
  const results: Result[] = [];
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      printSummary(results);
      void stop().then(() => process.exit(1));
    });
  }
  try {
    const tests = await baseline(sandboxes, sources);
    const startedMs = performance.now();
    await tryAll(sandboxes, tests, sample, results);
    printSummary(results);
    const seconds = (performance.now() - startedMs) / 1_000;
    console.log(`${(seconds / Math.max(1, results.length)).toFixed(1)} s a mutant`);
  } finally {
    await stop();
  }
}

/** Returns the compiled files below the paths, which name sources. */
function filesBelow(paths: readonly string[]): string[] {
  if (paths.length === 0) refuseArguments(HELP, "name a folder or a file, such as core/money");
  return paths.flatMap((path) => {
    const compiled = join("dist", path.replace(/\.ts$/, ".js"));
    if (!existsSync(join(packageRoot, compiled))) refuseArguments(HELP, `there is no ${path}`);
    if (!statSync(join(packageRoot, compiled)).isDirectory()) return [compiled];
    return readdirSync(join(packageRoot, compiled), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".js"))
      .map((file) => join(compiled, file))
      .sort();
  });
}

function sampleOf(files: readonly string[]): Sampled[] {
  const texts = new Map(files.map((file) => [file, readFileSync(join(packageRoot, file), "utf8")]));
  const all = Array.from(texts, ([file, text]) => mutantsOf(file, text)).flat();
  const random = new Random(numbers.seed);
  for (let at = all.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    const [one, two] = [all[at], all[other]];
    if (one && two) [all[at], all[other]] = [two, one];
  }
  const from = numbers.from - 1;
  const sample = all
    .slice(from, from + numbers.sample)
    .map((mutant) => ({ ...mutant, ...placeOf(mutant, texts.get(mutant.file) ?? "") }));
  console.log(`${sample.length} of ${all.length} mutants, in ${files.length} files`);
  const only = values.only?.split(",");
  return only ? sample.filter(({ at }) => only.some((place) => at.endsWith(place))) : sample;
}

/** The tests of the same folders, those that `--tests` names, and the simulated world. */
function candidates(): TestCommand[] {
  const folders = positionals.map((path) => (path.endsWith(".ts") ? join(path, "..") : path));
  const named = values.tests.split(",").filter((part) => part !== "");
  const files = readdirSync(join(packageRoot, "dist/test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.js"))
    .filter(
      (file) =>
        folders.some((folder) => file.startsWith(`${folder}/`)) ||
        named.some((part) => file.includes(part)),
    )
    .sort();
  return [...files.map((file) => ({ name: file, args: [join("dist/test", file)] })), WORLD];
}

/** Runs every candidate once without a change. Returns those that pass and cover something. */
async function baseline(
  sandboxes: readonly Sandbox[],
  sources: readonly string[],
): Promise<KnownTest[]> {
  const known: KnownTest[] = [];
  await inTurn(sandboxes, candidates(), async (sandbox, test) => {
    const folder = sandbox.emptyFolder("v8");
    const { kind, ms } = await sandbox.run(test, BASELINE_TIMEOUT_MS, { NODE_V8_COVERAGE: folder });
    const coverage = new Coverage(folder, sandbox.root, sources);
    const isSlow = ms > numbers.slowest * 1_000;
    const use =
      kind !== "passed" ? "not used: it fails without a mutant" : isSlow && "not used: it is slow";
    if (!use && coverage.isAny) known.push({ ...test, ms, coverage, tried: 0, noticed: 0 });
    console.log(`${(ms / 1_000).toFixed(1)} s ${test.name}${use ? ` (${use})` : ""}`);
  });
  return known;
}

async function tryAll(
  sandboxes: readonly Sandbox[],
  tests: readonly KnownTest[],
  sample: readonly Sampled[],
  results: Result[],
): Promise<void> {
  await inTurn(sandboxes, sample, async (sandbox, mutant) => {
    const result = { ...mutant, ...(await outcomeOf(sandbox, tests, mutant)) };
    results.push(result);
    console.log(`[${results.length}/${sample.length}] ${result.kind} ${result.at} (${result.why})`);
  });
}

function printSummary(results: readonly Result[]): void {
  const count = (...kinds: Result["kind"][]) =>
    results.filter(({ kind }) => kinds.includes(kind)).length;
  const unnoticed = results.filter(({ kind }) => kind === "survived" || kind === "uncovered");
  if (unnoticed.length > 0) console.log("\nnot noticed:");
  for (const result of unnoticed) console.log(shownPlace(result));
  const killed = count("killed", "timeout");
  const observable = results.length - count("unobservable");
  console.log(
    `\n${positionals.join(" ")}, seed ${values.seed}: ${killed} of ${observable} killed ` +
      `(${((100 * killed) / Math.max(1, observable)).toFixed(0)} %), ${count("timeout")} of them by a timeout; ` +
      `${count("survived")} survived, ${count("uncovered")} in code that no test ran; ` +
      `${count("unobservable")} cannot be observed`,
  );
}

async function outcomeOf(
  sandbox: Sandbox,
  tests: readonly KnownTest[],
  mutant: Sampled,
): Promise<Pick<Result, "kind" | "why">> {
  const reason = reasonFor(mutant);
  if (reason) return { kind: "unobservable", why: reason };
  const covering = tests
    .filter(({ coverage }) => coverage.has(mutant.file, mutant.start))
    .sort((one, other) => promiseOf(other, mutant) - promiseOf(one, mutant));
  if (covering.length === 0) return { kind: "uncovered", why: "no test runs it" };
  return sandbox.with(mutant, async () => {
    for (const test of covering) {
      const run = await sandbox.run(test, Math.max(TIMEOUT_LEAST_MS, test.ms * TIMEOUT_TIMES));
      test.tried++;
      if (run.kind !== "passed") test.noticed++;
      if (run.kind === "failed") return { kind: "killed", why: test.name };
      if (run.kind === "timeout") return { kind: "timeout", why: test.name };
    }
    return { kind: "survived", why: `${covering.length} tests passed` };
  });
}

/** How likely a test is to notice a mutant, for the time it takes: by what it noticed, and whether it is named after the file. */
function promiseOf({ name, ms, tried, noticed }: KnownTest, { file }: Mutant): number {
  const isItsOwn = basename(name, ".test.js") === basename(file, ".js");
  return (noticed + (isItsOwn ? 4 : 0.5)) / (tried + 5) / ms;
}

/** Works through a list, one entry at a time in each sandbox. */
async function inTurn<T>(
  sandboxes: readonly Sandbox[],
  list: readonly T[],
  work: (sandbox: Sandbox, entry: T) => Promise<void>,
): Promise<void> {
  const left = list.values();
  await Promise.all(
    sandboxes.map(async (sandbox) => {
      for (const entry of left) await work(sandbox, entry);
    }),
  );
}

function shownPlace({ at, before, after }: Place): string {
  return `${at}\n  - ${before}\n  + ${after}`;
}

await main();
