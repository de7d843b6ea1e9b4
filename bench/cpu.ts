import { type CpuTime, cpuSince, cpuTime } from "./cpu-time.ts";
import type { Generator } from "./generator.ts";
import type { Report, Workload } from "./load/job.ts";
import { median } from "./load/table.ts";
import type { Target } from "./targets.ts";

/** One row of a comparison: a kind of call, sent to a target. */
export interface Series {
  readonly label: string;
  readonly target: Target;
  readonly workload: Workload;
  /** Process of a server whose time is part of the row, such as Redis. */
  readonly server?: number;
}

export interface CpuOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** The unit by whose number the processor time is divided. */
  readonly unit: "call" | "event";
  /** Leaves the round out that warms up. */
  readonly isWarm?: boolean;
  /** Called with the label of a series before each of its rounds. */
  readonly onRound?: (label: string) => void;
}

/** Processor time per unit, in microseconds. Medians over the rounds. */
export interface CpuRow {
  readonly label: string;
  readonly mainUs: number;
  readonly processUs: number;
  /** Child processes, such as the embedded ledger. */
  readonly childrenUs: number;
  /** The server of the series; 0 without one. */
  readonly serverUs: number;
  /** Median of the ratios to the first series in the same round, for `processUs`. */
  readonly ratio: number;
  /** The same ratio, including child processes. */
  readonly ratioWithChildren: number;
  readonly unitsPerSecond: number;
  /** Share of its core that the main thread used under load. */
  readonly busy: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly errors: number;
}

interface Sample {
  readonly cpu: CpuTime;
  readonly serverUs: number;
  readonly report: Report;
  readonly units: number;
}

/**
 * Measures the series alternately, round by round, so that noise of the machine affects all of
 * them. Unless they are warm, a first round is not counted. Each round begins and ends idle, so it has no
 * partial calls.
 */
export async function measureCpu(
  generator: Generator,
  series: readonly Series[],
  options: CpuOptions,
): Promise<CpuRow[]> {
  const samples = series.map((): Sample[] => []);
  for (let round = options.isWarm ? 1 : 0; round <= options.rounds; round++) {
    for (const [at, each] of series.entries()) {
      options.onRound?.(each.label);
      const sample = await measureRound(generator, each, options);
      if (round > 0) samples[at]!.push(sample);
    }
  }
  return series.map((each, at) => rowOf(each.label, samples[at]!, samples[0]!));
}

async function measureRound(
  generator: Generator,
  { label, target, workload, server }: Series,
  { connections, seconds, unit }: CpuOptions,
): Promise<Sample> {
  const serverTime = () => (server === undefined ? 0 : cpuTime(server).processUs);
  const [before, serverBefore] = [cpuTime(target.pid), serverTime()];
  const { port, headers } = target;
  const report = await generator.run({ port, headers, ...workload, connections, seconds });
  // The measurement includes deferred work of these calls, such as their commit in the ledger.
  await untilQuiet(target.pid);
  const cpu = cpuSince(before, cpuTime(target.pid));
  if (report.calls === 0) throw new Error(`${label}: no call succeeded: ${report.firstError}`);
  const serverUs = serverTime() - serverBefore;
  return { cpu, serverUs, report, units: unit === "call" ? report.calls : report.events };
}

const QUIET_STEP_MS = 200;
const QUIET_WITHIN_MS = 30_000;
/**
 * An idle process with timers and connections uses less than this per step; remaining work uses
 * more.
 */
const QUIET_US = 20_000;

/** Resolves once a process and its children are idle. */
export async function untilQuiet(pid: number): Promise<void> {
  const deadline = Date.now() + QUIET_WITHIN_MS;
  let before = cpuTime(pid);
  for (let quiet = 0; quiet < 2 && Date.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, QUIET_STEP_MS));
    const now = cpuTime(pid);
    const { processUs, childrenUs } = cpuSince(before, now);
    quiet = processUs + childrenUs <= QUIET_US ? quiet + 1 : 0;
    before = now;
  }
}

function rowOf(label: string, samples: readonly Sample[], baseline: readonly Sample[]): CpuRow {
  const per = (of: (cpu: CpuTime) => number) => (sample: Sample) => of(sample.cpu) / sample.units;
  const main = per((cpu) => cpu.mainUs);
  const whole = per((cpu) => cpu.processUs);
  const children = per((cpu) => cpu.childrenUs);
  const all = per((cpu) => cpu.processUs + cpu.childrenUs);
  const over = (of: (sample: Sample) => number) =>
    median(samples.map((sample, round) => of(sample) / of(baseline[round]!)));
  return {
    label,
    mainUs: median(samples.map(main)),
    processUs: median(samples.map(whole)),
    childrenUs: median(samples.map(children)),
    serverUs: median(samples.map((sample) => sample.serverUs / sample.units)),
    ratio: over(whole),
    ratioWithChildren: over(all),
    unitsPerSecond: median(samples.map((sample) => sample.units / sample.report.seconds)),
    busy: median(samples.map(({ cpu, report }) => cpu.mainUs / 1e6 / report.seconds)),
    p50Us: median(samples.map(({ report }) => report.latencyUs.p50)),
    p99Us: median(samples.map(({ report }) => report.latencyUs.p99)),
    errors: samples.reduce((sum, { report }) => sum + report.errors, 0),
  };
}

/** Returns the cells of a row for printing. */
export function cellsOf(row: CpuRow, unit: string): Record<string, string> {
  return {
    "": row.label,
    [`µs/${unit}`]: row.processUs.toFixed(2),
    "main thread": row.mainUs.toFixed(2),
    ledger: row.childrenUs === 0 ? "" : row.childrenUs.toFixed(2),
    ratio: row.ratio.toFixed(2),
    "with ledger": row.ratioWithChildren.toFixed(2),
    [`${unit}s/s`]: row.unitsPerSecond.toFixed(0),
    busy: `${(row.busy * 100).toFixed(0)}%`,
    "p50 ms": (row.p50Us / 1000).toFixed(2),
    "p99 ms": (row.p99Us / 1000).toFixed(2),
    errors: String(row.errors),
  };
}
