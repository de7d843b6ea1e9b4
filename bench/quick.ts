import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cellsOf, measureCpu, type Series } from "./cpu.ts";
import { startGateway } from "./gateway.ts";
import { type Generator, startGenerator } from "./generator.ts";
import {
  type LatencyRuns,
  latencyCells,
  latencyRows,
  measureLatency,
  stallsOf,
} from "./latency.ts";
import type { Workload } from "./load/job.ts";
import { reportPage } from "./load/report-page.ts";
import type { Run } from "./load/run.ts";
import { printTable } from "./load/table.ts";
import { startPeers } from "./peers.ts";
import { Progress } from "./progress.ts";
import { nodeOptionsOf, resultsFolder, type Scenario, writeResults } from "./scenario.ts";
import { stallOptions } from "./stalls.ts";
import { startBareProxy, startUpstream, type Target } from "./targets.ts";
import { chatCall, pacedStream, SHORT_ANSWER } from "./workload.ts";

const RATE = 500;
const STALL_MS = 2;
const EVENT_DELAY_MS = 5;
/** Rounds and seconds that fit into two minutes with three peers. */
const CALLS = { rounds: 3, seconds: 1, connections: 64, unit: "call", isWarm: true } as const;
const EVENTS = { rounds: 2, seconds: 1.2, connections: 100, unit: "event", isWarm: true } as const;
const TIMES = { rounds: 2, seconds: 2, rate: RATE, isWarm: true } as const;
/** V8 compiles what runs often: a call of the gateway takes four times as long until then. */
const WARM_CALLS = 10_000;
const WARM_STREAMS = 500;
/** Most seconds for it, and those that a proxy is planned to need. */
const WARM_SECONDS_MAX = 15;
const WARM_SECONDS = 3;
/** Until a proxy is idle after a round. */
const QUIET_SECONDS = 0.6;
/** How long the streams of a round go on once its time is over. */
const STREAM_SECONDS = 1;

/** `quick`: the figures that matter in two minutes, with the proxies by others that are installed. */
export const quick: Scenario = {
  name: "quick",
  about: "processor time and times of calls in two minutes, beside nginx, HAProxy and Portkey",
  onRequest: true,
  hasOwnRounds: true,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const bare = await startBareProxy(children, upstream.port);
    const peers = await startPeers(children, upstream.port);
    const stallFile = join(children.folder("stalls"), "gateway");
    const nodeOptions = [...nodeOptionsOf(options), ...stallOptions(stallFile, STALL_MS)];
    const gateway = await startGateway(children, { upstreamPort: upstream.port, nodeOptions });
    const proxies = [bare, gateway, ...peers];
    const call = chatCall(SHORT_ANSWER, false);
    const stream = chatCall(pacedStream(EVENT_DELAY_MS), true);
    const progress = new Progress(plannedSeconds(proxies.length));
    const warm = (workload: Workload, calls: number, name: string) =>
      thatServe(generator, proxies, workload, calls, (proxy) =>
        progress.step(`first ${name}, ${proxy}`, WARM_SECONDS),
      );
    const ofCalls = await warm(call, WARM_CALLS, "calls");
    const ofStreams = await warm(stream, WARM_STREAMS, "streams");

    const calls = await measureCpu(generator, seriesOf(ofCalls, call), {
      ...CALLS,
      onRound: (name) => progress.step(`calls, ${name}`, CALLS.seconds + QUIET_SECONDS),
    });
    const events = await measureCpu(generator, seriesOf(ofStreams, stream), {
      ...EVENTS,
      onRound: (name) =>
        progress.step(`streams, ${name}`, EVENTS.seconds + STREAM_SECONDS + QUIET_SECONDS),
    });
    const runs = await measureLatency(generator, [...ofCalls, upstream], {
      ...TIMES,
      onRound: (name) => progress.step(`${RATE} calls/s, ${name}`, TIMES.seconds),
    });
    progress.end();
    await gateway.reconcile();

    const rows = latencyRows(runs, bare, RATE);
    const tables = [
      ["processor time of a call", calls.map((row) => cellsOf(row, "call"))],
      ["processor time of an event of a stream", events.map((row) => cellsOf(row, "event"))],
      [`times at ${RATE} calls/s, in ms`, rows.map(latencyCells)],
      [`stalls of the gateway's event loop at ${RATE} calls/s`, stallsOf(gateway, runs, stallFile)],
    ] as const;
    for (const [title, cells] of tables) printTable(title, cells);
    writeResults("quick", children, { ...options, ...TIMES }, [{ calls, events, times: rows }]);
    const file = join(resultsFolder, "quick.html");
    writeFileSync(file, reportPage(runs.map(lastRun), tables, options.warnings));
    console.log(`\nreport: ${file}`);
    await children.endAll();
  },
};

/** Warms the proxies up. Returns those that serve this call, and says why the others do not. */
async function thatServe(
  generator: Generator,
  proxies: readonly Target[],
  workload: Workload,
  wanted: number,
  onStep: (name: string) => void,
): Promise<Target[]> {
  const serving: Target[] = [];
  for (const target of proxies) {
    onStep(target.name);
    const { port, headers, name } = target;
    const job = { port, headers, ...workload, connections: CALLS.connections };
    let served = 0;
    for (let seconds = 0; served < wanted && seconds < WARM_SECONDS_MAX; seconds++) {
      const { calls, firstError } = await generator.run({ ...job, seconds: 1 });
      served += calls;
      if (calls > 0) continue;
      console.log(`\nWithout these calls of ${name}: ${firstError}`);
      break;
    }
    if (served > 0) serving.push(target);
  }
  return serving;
}

function seriesOf(targets: readonly Target[], workload: Workload): Series[] {
  return targets.map((target) => ({ label: target.name, target, workload }));
}

function plannedSeconds(proxies: number): number {
  const calls = CALLS.rounds * (CALLS.seconds + QUIET_SECONDS);
  const events = EVENTS.rounds * (EVENTS.seconds + STREAM_SECONDS + QUIET_SECONDS);
  const times = TIMES.rounds * TIMES.seconds;
  return proxies * (2 * WARM_SECONDS + calls + events + times) + times;
}

/** Returns the last round of a target for the report. */
function lastRun({ target, reports, spans }: LatencyRuns): Run {
  return {
    name: target.name,
    startedAt: new Date(spans.at(-1)!.from).toISOString(),
    url: `http://127.0.0.1:${target.port}`,
    call: "unstreamed chat calls of 1 KB",
    load: `${RATE} calls a second for ${TIMES.seconds} s`,
    isOpenLoop: true,
    stoppedEarly: false,
    report: reports.at(-1)!,
    charges: undefined,
    limits: [],
  };
}
