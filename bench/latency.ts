import { join } from "node:path";
import { startGateway } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import type { Report } from "./load/job.ts";
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

/** One row of results: medians over the rounds, in microseconds. */
interface LatencyRow {
  readonly label: string;
  readonly rate: number;
  readonly latencyUs: Readonly<Record<(typeof PERCENTILES)[number], number>>;
  /** The difference to the same percentile of the upstream itself, in the same round. */
  readonly addedUs: Readonly<Record<(typeof PERCENTILES)[number], number>>;
  readonly errors: number;
}

/** Measures the latency that a proxy adds to the upstream's, at a fixed rate of calls. */
export const latency: Scenario = {
  name: "latency",
  about: `added latency of unstreamed calls at ${RATES.join(" and ")} calls/s`,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const bare = await startBareProxy(children, upstream.port);
    const stallFile = join(children.folder("stalls"), "gateway");
    const nodeOptions = [...nodeOptionsOf(options), ...stallOptions(stallFile, STALL_MS)];
    const gateway = await startGateway(children, { upstreamPort: upstream.port, nodeOptions });
    const targets: readonly Target[] = [upstream, bare, gateway];
    const rows: LatencyRow[] = [];
    const spans: { readonly from: number; readonly to: number }[] = [];
    for (const rate of RATES) {
      const reports = targets.map((): Report[] => []);
      for (let round = 0; round <= options.rounds; round++) {
        for (const [at, { port, headers, name }] of targets.entries()) {
          // The upstream has the same /v1 path, so all three targets get the same request.
          const job = { port, headers, ...chatCall(SHORT_ANSWER, false), rate };
          const { seconds } = options;
          const from = Date.now();
          const report = await generator.run({ ...job, connections: CONNECTIONS_MAX, seconds });
          if (report.calls === 0) throw new Error(`${name}: ${report.firstError}`);
          if (round === 0) continue;
          reports[at]!.push(report);
          if (port === gateway.port && rate === RATES.at(-1)) {
            spans.push({ from, to: Date.now() });
          }
        }
      }
      for (const [at, { name }] of targets.entries()) {
        rows.push(rowOf(name, rate, reports[at]!, reports[0]!));
      }
    }
    await gateway.reconcile();
    printTable(`latency: ${this.about}, in ms`, rows.map(cellsOf));
    const stalls = stallsSince(stallFile, 0).filter(({ endedAt }) =>
      spans.some(({ from, to }) => endedAt > from && endedAt <= to),
    );
    printTable(`at ${RATES.at(-1)} calls/s`, histogramOf(stalls));
    writeResults("latency", children, options, rows);
    for (const each of [gateway, bare, generator, upstream]) await each.end();
  },
};

function rowOf(
  label: string,
  rate: number,
  reports: readonly Report[],
  direct: readonly Report[],
): LatencyRow {
  const percentiles = (of: (name: (typeof PERCENTILES)[number], round: number) => number) => {
    const at = (name: (typeof PERCENTILES)[number]) =>
      Math.round(median(reports.map((_, round) => of(name, round))));
    return { p50: at("p50"), p90: at("p90"), p99: at("p99"), p999: at("p999") };
  };
  return {
    label,
    rate,
    latencyUs: percentiles((name, round) => reports[round]!.latencyUs[name]),
    addedUs: percentiles(
      (name, round) => reports[round]!.latencyUs[name] - direct[round]!.latencyUs[name],
    ),
    errors: reports.reduce((sum, report) => sum + report.errors, 0),
  };
}

function cellsOf({ label, rate, latencyUs, addedUs, errors }: LatencyRow): Record<string, string> {
  const cells: Record<string, string> = { "": label, "calls/s": String(rate) };
  for (const name of PERCENTILES) cells[name] = (latencyUs[name] / 1000).toFixed(2);
  for (const name of PERCENTILES) {
    cells[`added ${name}`] = label === "upstream" ? "" : (addedUs[name] / 1000).toFixed(2);
  }
  cells["errors"] = String(errors);
  return cells;
}
