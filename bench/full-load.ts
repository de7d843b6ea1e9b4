import { untilQuiet } from "./cpu.ts";
import { type CpuTime, cpuSince, cpuTime, residentBytes } from "./cpu-time.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import type { Report } from "./load/job.ts";
import { printTable } from "./load/table.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { startUpstream } from "./targets.ts";
import { chatCall, SHORT_ANSWER } from "./workload.ts";

const CONNECTIONS = 64;
const SAMPLE_MS = 1_000;
const MEGABYTE = 1_048_576;

/** One round of the load. The rounds follow each other without a pause. */
interface LoadRow {
  readonly round: number;
  readonly report: Report;
  readonly backlogMax: number;
  readonly backlogAtEnd: number;
  /** Shares of the core that gateway and ledger share. */
  readonly gatewayShare: number;
  readonly ledgerShare: number;
  readonly residentBytes: number;
}

/** Measures if the embedded ledger keeps pace with a gateway that is never idle, on one core. */
export const fullLoad: Scenario = {
  name: "full-load",
  about: `${CONNECTIONS} connections that never pause, gateway and embedded ledger on one core`,
  onRequest: true,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const nodeOptions = nodeOptionsOf(options);
    const gateway = await startGateway(children, { upstreamPort: upstream.port, nodeOptions });
    const { port, headers } = gateway;
    const { seconds } = options;
    const rows: LoadRow[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      const before = cpuTime(gateway.pid);
      const sampler = sampleBacklog(gateway);
      const call = chatCall(SHORT_ANSWER, false);
      const job = { port, headers, ...call, connections: CONNECTIONS, seconds };
      const report = await generator.run(job);
      const cpu = cpuSince(before, cpuTime(gateway.pid));
      rows.push({
        round,
        report,
        ...(await sampler.end()),
        ...sharesOf(cpu, report),
        residentBytes: residentBytes(gateway.pid),
      });
    }
    printTable(`full-load: ${this.about}`, rows.map(cellsOf));
    const refused = rows.find(({ report }) => report.errors > 0)?.report.firstError;
    if (refused !== undefined) console.log(`first error: ${refused}`);
    await untilQuiet(gateway.pid);
    await gateway.reconcile();
    writeResults("full-load", children, options, rows);
    for (const each of [gateway, generator, upstream]) await each.end();
  },
};

function sampleBacklog({ port }: Gateway) {
  let backlogMax = 0;
  const sample = async () => {
    const backlog = await backlogOf(port);
    backlogMax = Math.max(backlogMax, backlog);
    return backlog;
  };
  const timer = setInterval(() => void sample().catch(() => {}), SAMPLE_MS);
  return {
    async end() {
      clearInterval(timer);
      const backlogAtEnd = await sample();
      return { backlogMax, backlogAtEnd };
    },
  };
}

async function backlogOf(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  const [, count] = /^tollgate_outbox_backlog (\S+)$/m.exec(await response.text()) ?? [];
  return Number(count);
}

function sharesOf({ processUs, childrenUs }: CpuTime, { seconds }: Report) {
  const share = (us: number) => us / 1e6 / seconds;
  return { gatewayShare: share(processUs), ledgerShare: share(childrenUs) };
}

function cellsOf(row: LoadRow): Record<string, string> {
  const { report } = row;
  return {
    "": `round ${row.round}`,
    "calls/s": (report.calls / report.seconds).toFixed(0),
    errors: String(report.errors),
    "p50 ms": (report.latencyUs.p50 / 1000).toFixed(1),
    "p99 ms": (report.latencyUs.p99 / 1000).toFixed(1),
    "max ms": (report.latencyUs.max / 1000).toFixed(0),
    "backlog at most": String(row.backlogMax),
    "at the end": String(row.backlogAtEnd),
    gateway: `${(row.gatewayShare * 100).toFixed(0)}%`,
    ledger: `${(row.ledgerShare * 100).toFixed(0)}%`,
    MB: (row.residentBytes / MEGABYTE).toFixed(0),
  };
}
