import type { Directive } from "../test/support/provider/directive.ts";
import { type CpuRow, cellsOf, measureCpu, type Series } from "./cpu.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { startGenerator } from "./generator.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { printTable } from "./table.ts";
import { startUpstream } from "./targets.ts";
import { pacedStream, SHORT_ANSWER, STREAM_DELTAS, type Workload } from "./workload.ts";

const STREAMS = 20;
const PACED_STREAMS = 100;
const EVENT_DELAY_MS = 5;
const CALLS = 4;
const BODY_BYTES = 512 * 1_024;
const TURN_BYTES = 4 * 1_024;
const TEXT = 'if (name === "a\\n") {\n  return left + "/" + right;\n}\n// đọc tệp, rồi ghi lại\n';

const PROTOCOLS = ["messages", "chat", "responses"] as const;
type Protocol = (typeof PROTOCOLS)[number];

/** The model whose upstream speaks a protocol. With a tool, GPT-5.6 speaks Responses to all clients. */
const MODELS: Readonly<Record<Protocol, string>> = {
  messages: "claude-haiku-5-5",
  chat: "glm-5.2",
  responses: "gpt-5.6-luna",
};

const SCHEMA = { type: "object", properties: { path: { type: "string" } } };

/** A request of a client: its path, its fields, and how it writes a conversation. */
interface Form {
  readonly path: string;
  readonly fields: object;
  /** Adds a call of a tool and its result. */
  step(turns: object[], id: string, text: string): void;
  body(turns: readonly object[]): object;
  readonly streamEnd: string;
}

const BURST: Directive = { output_tokens: STREAM_DELTAS, deltas: STREAM_DELTAS };
const ARGUMENTS = JSON.stringify({ path: "a.ts" });

const FORMS: Readonly<Record<Protocol, Form>> = {
  messages: {
    path: "/v1/messages",
    fields: { max_tokens: 4_000, tools: [{ name: "read", input_schema: SCHEMA }] },
    step(turns, id, text) {
      const use = { type: "tool_use", id, name: "read", input: { path: "a.ts" } };
      turns.push({ role: "assistant", content: [{ type: "text", text }, use] });
      const result = { type: "tool_result", tool_use_id: id, content: text };
      turns.push({ role: "user", content: [result] });
    },
    body: (messages) => ({ messages }),
    streamEnd: '"message_stop"}\n\n',
  },
  chat: {
    path: "/v1/chat/completions",
    fields: {
      max_completion_tokens: 4_000,
      tools: [{ type: "function", function: { name: "read", parameters: SCHEMA } }],
    },
    step(turns, id, content) {
      const call = { id, type: "function", function: { name: "read", arguments: ARGUMENTS } };
      turns.push({ role: "assistant", content, tool_calls: [call] });
      turns.push({ role: "tool", tool_call_id: id, content });
    },
    body: (messages) => ({ messages }),
    streamEnd: "[DONE]\n\n",
  },
  responses: {
    path: "/v1/responses",
    fields: {
      max_output_tokens: 4_000,
      tools: [{ type: "function", name: "read", parameters: SCHEMA }],
    },
    step(turns, call_id, text) {
      turns.push({ role: "assistant", content: [{ type: "output_text", text }] });
      turns.push({ type: "function_call", call_id, name: "read", arguments: ARGUMENTS });
      turns.push({ type: "function_call_output", call_id, output: text });
    },
    body: (input) => ({ input }),
    streamEnd: "}\n\n",
  },
};

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
  const { path, fields, body, streamEnd } = FORMS[client];
  const turns = [{ role: "user", content: `Go on. [[sim ${JSON.stringify(directive)}]]` }];
  const request = { model, ...fields, ...body(turns), stream: true };
  return { path, body: JSON.stringify(request), endsWith: streamEnd };
}

function longCall(client: Protocol, model: string): Workload {
  const { path, fields, body, step } = FORMS[client];
  const text = TEXT.repeat(Math.ceil(TURN_BYTES / TEXT.length));
  const turns: object[] = [{ role: "user", content: "Read them." }];
  for (let bytes = 0; bytes < BODY_BYTES; bytes += 2 * JSON.stringify(text).length) {
    step(turns, `call_${turns.length}`, text);
  }
  turns.push({ role: "user", content: `Go on. [[sim ${JSON.stringify(SHORT_ANSWER)}]]` });
  const request = { model, ...fields, ...body(turns) };
  return { path, body: JSON.stringify(request), endsWith: "}" };
}
