import { join } from "node:path";
import { startGateway } from "./gateway.ts";
import { type Generator, startGenerator } from "./generator.ts";
import type { Report } from "./load/job.ts";
import { VOID_ABOVE } from "./load/run.ts";
import { median, printTable } from "./load/table.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { histogramOf, stallOptions, stallsSince } from "./stalls.ts";
import { startBareProxy, startUpstream, type Target } from "./targets.ts";
import { chatCall, SHORT_ANSWER } from "./workload.ts";

const RATES = [500, 2000] as const;
const CONNECTIONS_MAX = 1_000;
/** The shortest stall of the gateway's event loop that is shown. */
const STALL_MS = 2;
const PERCENTILES = ["p50", "p90", "p99", "p999"] as const;
const COMPARED = ["p50", "p90", "p99"] as const;

/** One row of results: medians over the rounds, in microseconds. */
interface LatencyRow {
  readonly label: string;
  readonly rate: number;
  readonly latencyUs: Readonly<Record<(typeof PERCENTILES)[number], number>>;
  /** The ratio to the same percentile of the bare proxy, in the same round. */
  readonly overBare: Readonly<Record<(typeof COMPARED)[number], number>>;
  readonly calls: number;
  readonly errors: number;
}

/** The runs of one target, one a round. */
export interface LatencyRuns {
  readonly target: Target;
  readonly reports: Report[];
  /** When each run began and ended, in ms since 1970. */
  readonly spans: { readonly from: number; readonly to: number }[];
}

/** Measures how long a call takes through a proxy, at a fixed rate of calls. */
export const latency: Scenario = {
  name: "latency",
  about: `time of unstreamed calls at ${RATES.join(" and ")} calls/s`,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const bare = await startBareProxy(children, upstream.port);
    const stallFile = join(children.folder("stalls"), "gateway");
    const nodeOptions = [...nodeOptionsOf(options), ...stallOptions(stallFile, STALL_MS)];
    const gateway = await startGateway(children, { upstreamPort: upstream.port, nodeOptions });
    const rows: LatencyRow[] = [];
    for (const rate of RATES) {
      const targets = [upstream, bare, gateway];
      const runs = await measureLatency(generator, targets, { ...options, rate });
      rows.push(...latencyRows(runs, bare, rate));
      if (rate !== RATES.at(-1)) continue;
      printTable(`latency: ${this.about}, in ms`, rows.map(latencyCells));
      printTable(`at ${rate} calls/s`, stallsOf(gateway, runs, stallFile));
    }
    await gateway.reconcile();
    writeResults("latency", children, options, rows);
    for (const each of [gateway, bare, generator, upstream]) await each.end();
  },
};

/** Measures the targets in turns. Unless they are warm, a first round is not counted. */
export async function measureLatency(
  generator: Generator,
  targets: readonly Target[],
  { rate, rounds, seconds, isWarm = false, onRound }: LatencyOptions,
): Promise<LatencyRuns[]> {
  const runs = targets.map((target): LatencyRuns => ({ target, reports: [], spans: [] }));
  for (let round = isWarm ? 1 : 0; round <= rounds; round++) {
    for (const { target, reports, spans } of runs) {
      onRound?.(target.name);
      const { port, headers, name } = target;
      // The upstream has the same /v1 path, so all targets get the same request.
      const job = { port, headers, ...chatCall(SHORT_ANSWER, false), rate };
      const from = Date.now();
      const report = await generator.run({ ...job, connections: CONNECTIONS_MAX, seconds });
      if (report.calls === 0) throw new Error(`${name}: ${report.firstError}`);
      if (round === 0) continue;
      reports.push(report);
      spans.push({ from, to: Date.now() });
    }
  }
  return runs;
}

interface LatencyOptions {
  readonly rate: number;
  readonly rounds: number;
  readonly seconds: number;
  /** Leaves the round out that warms up. */
  readonly isWarm?: boolean;
  /** Called with the name of the target before each of its rounds. */
  readonly onRound?: (name: string) => void;
}

/** Returns the rows of all targets. The ratios are of the same round. */
export function latencyRows(
  runs: readonly LatencyRuns[],
  bare: Target,
  rate: number,
): LatencyRow[] {
  const base = runs.find(({ target }) => target === bare)?.reports ?? [];
  return runs.map(({ target, reports }) => {
    const at = (name: (typeof PERCENTILES)[number]) =>
      Math.round(median(reports.map(({ latencyUs }) => latencyUs[name])));
    const over = (name: (typeof COMPARED)[number]) =>
      median(reports.map(({ latencyUs }, round) => latencyUs[name] / base[round]!.latencyUs[name]));
    return {
      label: target.name,
      rate,
      latencyUs: { p50: at("p50"), p90: at("p90"), p99: at("p99"), p999: at("p999") },
      overBare: { p50: over("p50"), p90: over("p90"), p99: over("p99") },
      calls: reports.reduce((sum, { calls }) => sum + calls, 0),
      errors: reports.reduce((sum, { errors }) => sum + errors, 0),
    };
  });
}

/** Returns the cells of a row, times in ms. The times of a row with too many errors are void. */
export function latencyCells(row: LatencyRow): Record<string, string> {
  const { label, rate, latencyUs, overBare, calls, errors } = row;
  const isVoid = errors > (calls + errors) * VOID_ABOVE;
  const cells: Record<string, string> = { "": label, "calls/s": String(rate) };
  for (const name of PERCENTILES) cells[name] = isVoid ? "void" : ms(latencyUs[name]);
  for (const name of COMPARED) {
    cells[`${name} / bare`] = isVoid ? "void" : overBare[name].toFixed(2);
  }
  cells["failed"] = errors === 0 ? "0" : `${errors} of ${calls + errors}`;
  return cells;
}

/** Returns the histogram of the stalls of a gateway in its runs, by their cause. */
export function stallsOf(
  gateway: Target,
  runs: readonly LatencyRuns[],
  file: string,
): Record<string, string>[] {
  const spans = runs.find(({ target }) => target === gateway)?.spans ?? [];
  const isWithin = (at: number) => spans.some(({ from, to }) => at > from && at <= to);
  return histogramOf(stallsSince(file, 0).filter(({ endedAt }) => isWithin(endedAt)));
}

function ms(us: number): string {
  return (us / 1_000).toFixed(2);
}
