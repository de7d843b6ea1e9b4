import { type CpuRow, measureCpu, type Series } from "./cpu.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { type Generator, startGenerator } from "./generator.ts";
import { agentCall, KB, KINDS, type Kind } from "./load/agent-calls.ts";
import type { Workload } from "./load/job.ts";
import { printTable } from "./load/table.ts";
import { nodeOptionsOf, type Options, type Scenario, writeResults } from "./scenario.ts";
import { startBareProxy, startRelay, startUpstream, type Target } from "./targets.ts";
import { CHAT_MODEL, directed, MESSAGES_MODEL, SHORT_ANSWER } from "./workload.ts";

const CONNECTIONS = 4;
const SIZES_KB = [1, 16, 128, 512, 2_048];
/** Fifteen bodies are measured; with these rounds, in minutes. */
const ROUNDS_MAX = 3;
const SECONDS_MAX = 1;
/**
 * `bodies`: measures the time that a request body takes on the main thread, by its size, passed on
 * and translated.
 */
export const bodies: Scenario = {
  name: "bodies",
  about: "processor time of the main thread by the size of a request, passed on and translated",
  onRequest: true,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const bare = await startBareProxy(children, upstream.port);
    const relay = await startRelay(children, upstream.port);
    const started = { upstreamPort: upstream.port, nodeOptions: nodeOptionsOf(options) };
    const gateways: [string, Gateway][] = [["", await startGateway(children, started)]];
    const { against } = options;
    if (against !== undefined) {
      const other = await startGateway(children, { upstreamPort: upstream.port, built: against });
      gateways.unshift([", before", other]);
    }
    const { table, rows } = await measureAll(generator, [bare, relay], gateways, options);
    printTable("bodies: ms of the main thread per call", table);
    writeResults("bodies", children, options, rows);
    for (const [, gateway] of gateways) {
      await gateway.reconcile();
      // A process that is killed writes no profile.
      await gateway.end();
    }
    await children.endAll();
  },
};

/** Prints each row as soon as it is measured. */
async function measureAll(
  generator: Generator,
  [bare, relay]: readonly [bare: Target, relay: Target],
  gateways: readonly (readonly [string, Gateway])[],
  options: Options,
) {
  const table: Record<string, string>[] = [];
  const rows: object[] = [];
  const rounds = Math.min(options.rounds, ROUNDS_MAX);
  const seconds = Math.min(options.seconds, SECONDS_MAX);
  const sizes = options.sizesKb ?? SIZES_KB;
  for (const kb of sizes) {
    const size = kb * KB;
    for (const kind of KINDS) {
      const workload = (model: string) => callOf(model, kind, size);
      const series: Series[] = [
        { label: "bare", target: bare, workload: workload(CHAT_MODEL) },
        { label: "relay", target: relay, workload: workload(CHAT_MODEL) },
      ];
      for (const [name, target] of gateways) {
        series.push({ label: `passed${name}`, target, workload: workload(CHAT_MODEL) });
        series.push({ label: `translated${name}`, target, workload: workload(MESSAGES_MODEL) });
      }
      const measured = await measureCpu(generator, series, {
        ...{ rounds, seconds, connections: CONNECTIONS, unit: "call" },
      });
      rows.push({ size, kind, measured });
      const cells = cellsOf(measured);
      table.push({ body: `${kb} KB, ${kind}`, ...cells });
      const shown = Object.entries(cells).map(([label, ms]) => `${label} ${ms}`);
      const done = `${rows.length} of ${sizes.length * KINDS.length}`;
      console.log(`${done}: ${kb} KB, ${kind}: ${shown.join(", ")} ms`);
    }
  }
  return { table, rows };
}

function cellsOf(rows: readonly CpuRow[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ label, mainUs }) => [label, (mainUs / 1_000).toFixed(2)]));
}

function callOf(model: string, kind: Kind, bytes: number): Workload {
  const prompt = directed("Go on.", SHORT_ANSWER);
  return agentCall({
    ...{ protocol: "chat", model, kind, bytes, stream: false, maxTokens: 4_000, prompt },
  });
}
