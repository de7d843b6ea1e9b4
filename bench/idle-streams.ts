import { residentBytes } from "./cpu-time.ts";
import { startGateway } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import { printTable } from "./load/table.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { startBareProxy, startUpstream } from "./targets.ts";
import { chatCall, SHORT_ANSWER } from "./workload.ts";

const STREAMS = 1_000;
const OPEN_WITHIN_SECONDS = 20;
/** Time for the garbage collections that follow the opening. */
const SETTLE_MS = 2_000;
const MEGABYTE = 1_048_576;

/** Begins like any stream, then stays silent for longer than the measurement. */
const silent = chatCall({ output_tokens: 20, silent_ms: 600_000 }, true);

/** Measures the memory of a proxy with open but silent streams, as those of thinking models. */
export const idleStreams: Scenario = {
  name: "idle-streams",
  about: `memory for ${STREAMS.toLocaleString("en")} open streams without traffic`,
  async run(children, options) {
    const upstream = await startUpstream(children);
    const generator = await startGenerator(children);
    const bare = await startBareProxy(children, upstream.port);
    const nodeOptions = nodeOptionsOf(options);
    const gateway = await startGateway(children, { upstreamPort: upstream.port, nodeOptions });
    const rows = [];
    for (const { name, port, headers, pid } of [bare, gateway]) {
      const call = { port, headers, ...chatCall(SHORT_ANSWER, false) };
      // One call loads the wallet. More calls would grow the heap, and hide the memory of the
      // streams.
      await generator.run({ ...call, connections: 1, seconds: 0 });
      const before = residentBytes(pid);
      const held = { port, headers, ...silent, connections: STREAMS, hold: true };
      const report = await generator.run({ ...held, seconds: OPEN_WITHIN_SECONDS });
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      const after = residentBytes(pid);
      // The next job closes the streams.
      await generator.run({ ...call, connections: 1, seconds: 0 });
      rows.push({ label: name, streams: report.calls, errors: report.errors, before, after });
    }
    printTable(
      `idle-streams: ${this.about}`,
      rows.map(({ label, streams, errors, before, after }) => ({
        "": label,
        streams: String(streams),
        "MB before": (before / MEGABYTE).toFixed(0),
        "MB with streams": (after / MEGABYTE).toFixed(0),
        "KB a stream": ((after - before) / 1024 / streams).toFixed(1),
        errors: String(errors),
      })),
    );
    writeResults("idle-streams", children, options, rows);
    for (const each of [gateway, bare, generator, upstream]) await each.end();
  },
};
