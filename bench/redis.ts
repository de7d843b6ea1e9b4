import { type CpuRow, cellsOf, measureCpu, type Series } from "./cpu.ts";
import { startGateway } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import { printTable } from "./load/table.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { startPostgres, startRedis } from "./store-servers.ts";
import { startUpstream } from "./targets.ts";
import { chatCall, SHORT_ANSWER } from "./workload.ts";

const CONNECTIONS = 64;
/** A budget that no run uses up. */
const LIMIT_VND = "1000000000";

/**
 * Measures the processor time that Redis and Postgres add, compared with the embedded stores, and that of a key with
 * budgets for the day and the month.
 */
export const redis: Scenario = {
  name: "redis",
  about: "processor time of the gateway per call, with Redis and Postgres against embedded stores",
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const servers = [await startRedis(children), await startPostgres(children)] as const;
    const [hot, ledger] = servers;
    const common = { upstreamPort: upstream.port };
    const embedded = await startGateway(children, common);
    const shared = await startGateway(children, {
      ...common,
      stores: { hot: hot.url, ledger: ledger.url },
      nodeOptions: nodeOptionsOf(options),
    });
    const workload = chatCall(SHORT_ANSWER, false);
    const limits = { day_vnd: LIMIT_VND, month_vnd: LIMIT_VND };
    const limited = { ...shared, headers: await shared.newKey(limits) };
    const server = hot.pid;
    const series: Series[] = [
      { label: "embedded", target: embedded, workload },
      { label: "Redis + Postgres", target: shared, workload, server },
      { label: "with two budgets", target: limited, workload, server },
    ];
    const { rounds, seconds } = options;
    const measured = { rounds, seconds, connections: CONNECTIONS, unit: "call" } as const;
    const rows = await measureCpu(generator, series, measured);
    printTable(
      `redis: ${this.about}`,
      rows.map((row) => ({
        ...cellsOf(row, "call"),
        "more µs": moreUs(row, rows[0]),
        "Redis µs": row.serverUs.toFixed(1),
      })),
    );
    writeResults("redis", children, options, rows);
    for (const gateway of [embedded, shared]) await gateway.reconcile();
    for (const each of [embedded, shared, ...servers, generator, upstream]) await each.end();
  },
};

function moreUs(row: CpuRow, baseline: CpuRow | undefined): string {
  return (row.processUs - (baseline?.processUs ?? Number.NaN)).toFixed(1);
}
