import type { Children } from "./children.ts";
import { type CpuOptions, cellsOf, measureCpu, type Series } from "./cpu.ts";
import { startGateway, startGateways } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import type { Workload } from "./load/job.ts";
import { printTable } from "./load/table.ts";
import { startNginx } from "./peers.ts";
import { nodeOptionsOf, type Options, type Scenario, writeResults } from "./scenario.ts";
import { startBareProxy, startUpstream } from "./targets.ts";
import {
  CHAT_MODEL,
  chatCall,
  MESSAGES_MODEL,
  messagesCall,
  pacedStream,
  SHORT_ANSWER,
  STREAM_DELTAS,
} from "./workload.ts";

/**
 * Number of connections: enough for several ready sockets per turn of the event loop, as in a busy
 * proxy.
 */
const UNSTREAMED_CONNECTIONS = 64;
const STREAMS = 100;
/** 100 streams with an event every 5 ms are 20,000 events/s, below the limit of every proxy. */
const EVENT_DELAY_MS = 5;

const paced = pacedStream(EVENT_DELAY_MS);
const burst = { output_tokens: STREAM_DELTAS, deltas: STREAM_DELTAS };

export const cpuScenarios: readonly Scenario[] = [
  comparison("chat", "an unstreamed Chat Completions call", "call", chatCall(SHORT_ANSWER, false)),
  comparison("messages", "an unstreamed Messages call", "call", messagesCall(SHORT_ANSWER, false)),
  comparison("chat-stream", "a Chat Completions event", "event", chatCall(paced, true)),
  comparison("messages-stream", "a Messages event", "event", messagesCall(paced, true)),
  translation(
    "translated-chat",
    "an event of a Chat Completions client",
    chatCall(paced, true, CHAT_MODEL),
    chatCall(paced, true, MESSAGES_MODEL),
  ),
  translation(
    "translated-messages",
    "an event of a Messages client",
    messagesCall(paced, true, MESSAGES_MODEL),
    messagesCall(paced, true, CHAT_MODEL),
  ),
  // Many events per packet share its system calls, so the result is the cost in JavaScript.
  onRequest(comparison("burst", "a Messages event of a burst", "event", messagesCall(burst, true))),
  onRequest(
    translation(
      "translated-burst",
      "an event of a burst to a Chat Completions client",
      chatCall(burst, true, CHAT_MODEL),
      chatCall(burst, true, MESSAGES_MODEL),
    ),
  ),
];

function onRequest(scenario: Scenario): Scenario {
  return { ...scenario, onRequest: true };
}

/** Compares the same call through the bare proxy, the gateway and nginx. */
function comparison(
  name: string,
  about: string,
  unit: CpuOptions["unit"],
  workload: Workload,
): Scenario {
  return {
    name,
    about: `processor time for ${about}, against a bare proxy`,
    async run(children, options) {
      const upstream = await startUpstream(children);
      const generator = await startGenerator(children);
      const gateways = await startGateways(children, upstream.port, options);
      const bare = await startBareProxy(children, upstream.port);
      const nginx = await startNginx(children, upstream.port);
      const series: Series[] = [{ label: "bare proxy", target: bare, workload }];
      for (const [label, target] of gateways) series.push({ label, target, workload });
      if (nginx) series.push({ label: "nginx", target: nginx, workload });
      await measure(name, this.about, children, generator, series, unit, options);
      for (const [, gateway] of gateways) await gateway.reconcile();
      for (const [, gateway] of gateways) await gateway.end();
      for (const each of [bare, nginx, generator, upstream]) await each?.end();
    },
  };
}

/**
 * Compares a translated stream with one that is passed through, for the same clients and gateway.
 */
function translation(
  name: string,
  about: string,
  passed: Workload,
  translated: Workload,
): Scenario {
  return {
    name,
    about: `processor time for ${about}, translated against passed through`,
    async run(children, options) {
      const { upstream, generator, gateway } = await start(children, options);
      const series: Series[] = [
        { label: "passed through", target: gateway, workload: passed },
        { label: "translated", target: gateway, workload: translated },
      ];
      await measure(name, this.about, children, generator, series, "event", options);
      await gateway.reconcile();
      for (const each of [gateway, generator, upstream]) await each.end();
    },
  };
}

async function start(children: Children, options: Options) {
  const upstream = await startUpstream(children);
  const generator = await startGenerator(children);
  const gateway = await startGateway(children, {
    upstreamPort: upstream.port,
    nodeOptions: nodeOptionsOf(options),
  });
  return { upstream, generator, gateway };
}

async function measure(
  name: string,
  about: string,
  children: Children,
  generator: Parameters<typeof measureCpu>[0],
  series: readonly Series[],
  unit: CpuOptions["unit"],
  options: Options,
): Promise<void> {
  const connections = unit === "call" ? UNSTREAMED_CONNECTIONS : STREAMS;
  const { rounds, seconds } = options;
  const rows = await measureCpu(generator, series, { rounds, seconds, connections, unit });
  printTable(
    `${name}: ${about}`,
    rows.map((row) => cellsOf(row, unit)),
  );
  writeResults(name, children, options, rows);
}
