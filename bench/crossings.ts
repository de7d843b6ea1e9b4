import type { Directive } from "../test/support/provider/directive.ts";
import { type CpuRow, cellsOf, measureCpu, type Series } from "./cpu.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import { agentCall, KB, PROTOCOLS, type Protocol } from "./load/agent-calls.ts";
import type { Workload } from "./load/job.ts";
import { printTable } from "./load/table.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { startUpstream } from "./targets.ts";
import { directed, pacedStream, SHORT_ANSWER, STREAM_DELTAS } from "./workload.ts";

const STREAMS = 20;
const PACED_STREAMS = 100;
const EVENT_DELAY_MS = 5;
const CALLS = 4;
const BODY_BYTES = 512 * KB;

/** The model whose upstream speaks a protocol. With a tool, GPT-5.6 speaks Responses to all clients. */
const MODELS: Readonly<Record<Protocol, string>> = {
  messages: "claude-haiku-5-5",
  chat: "glm-5.2",
  responses: "gpt-5.6-luna",
};

const CALL = { kind: "code", maxTokens: 4_000 } as const;
const BURST: Directive = { output_tokens: STREAM_DELTAS, deltas: STREAM_DELTAS };

/**
 * `crossings`: measures each client protocol on each upstream protocol: an event of a stream, and a request of 512 KB.
 * In the first of three lines, client and upstream speak the same protocol.
 */
export const crossings: Scenario = {
  name: "crossings",
  about: "processor time of an event and of 512 KB, for each client's protocol on each upstream's",
  onRequest: true,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const started = { upstreamPort: upstream.port, nodeOptions: nodeOptionsOf(options) };
    const gateway = await startGateway(children, started);
    const { rounds, seconds } = options;
    const paced: CpuRow[] = [];
    const events: CpuRow[] = [];
    const bodies: CpuRow[] = [];
    for (const client of PROTOCOLS) {
      const slow = pacedStream(EVENT_DELAY_MS);
      const paces = seriesOf(gateway, client, (model) => stream(client, model, slow));
      const burst = seriesOf(gateway, client, (model) => stream(client, model, BURST));
      const long = seriesOf(gateway, client, (model) => longCall(client, model));
      const run = { rounds, seconds };
      const each = { ...run, connections: PACED_STREAMS, unit: "event" } as const;
      paced.push(...(await measureCpu(generator, paces, each)));
      events.push(
        ...(await measureCpu(generator, burst, { ...run, connections: STREAMS, unit: "event" })),
      );
      bodies.push(
        ...(await measureCpu(generator, long, { ...run, connections: CALLS, unit: "call" })),
      );
    }
    printTable(
      "crossings: an event of a stream, each in a packet",
      paced.map((row) => cellsOf(row, "event")),
    );
    printTable(
      "crossings: an event of a stream, many in a packet",
      events.map((row) => cellsOf(row, "event")),
    );
    printTable(
      "crossings: a request of 512 KB",
      bodies.map((row) => cellsOf(row, "call")),
    );
    writeResults("crossings", children, options, [{ paced, events, bodies }]);
    await gateway.reconcile();
    await children.endAll();
  },
};

/** Returns the client on an upstream of its own protocol, then on the others. */
function seriesOf(
  target: Gateway,
  client: Protocol,
  workload: (model: string) => Workload,
): Series[] {
  const others = PROTOCOLS.filter((protocol) => protocol !== client);
  return [client, ...others].map((upstream) => ({
    label: `${client} client, ${upstream} upstream`,
    target,
    workload: workload(MODELS[upstream]),
  }));
}

function stream(client: Protocol, model: string, directive: Directive): Workload {
  const prompt = directed("Go on.", directive);
  return agentCall({ ...CALL, protocol: client, model, bytes: 0, stream: true, prompt });
}

function longCall(client: Protocol, model: string): Workload {
  const prompt = directed("Go on.", SHORT_ANSWER);
  return agentCall({ ...CALL, protocol: client, model, bytes: BODY_BYTES, stream: false, prompt });
}
