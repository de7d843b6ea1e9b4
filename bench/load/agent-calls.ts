import type { GoodReply, Workload } from "./job.ts";

export const PROTOCOLS = ["messages", "chat", "responses"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Text of the conversations: prose, code with many escapes, or many short calls of tools. */
export const KINDS = ["prose", "code", "tools"] as const;
export type Kind = (typeof KINDS)[number];

export const KB = 1_024;

const TEXTS: Readonly<Record<Kind, string>> = {
  prose: "Hôm nay trời đẹp, chúng ta đi dạo quanh hồ. The books stand on shelf 14. ",
  code: 'if (name === "a\\n") {\n  return left + "/" + right;\n}\n// đọc tệp, rồi ghi lại\n',
  tools: '{"path": "src/a.ts", "found": ["left", "right"], "note": "đọc tệp"}\n',
};

/** Bytes of text in a turn: few long turns, an agent's files, or many short calls of tools. */
const TURN_BYTES: Readonly<Record<Kind, number>> = { prose: 16 * KB, code: 4 * KB, tools: 160 };

/** More turns of tools would have more values than a body may. */
const TURNS_MAX = 8_192;

/** Models of OpenAI that refuse `max_tokens`. Other providers know nothing else. */
const REASONS = /(?:^|\/)(?:gpt-[5-9]|o\d)/;

const TOOL = "write_file";
const SCHEMA = {
  type: "object",
  properties: { path: { type: "string" }, text: { type: "string" } },
  required: ["path", "text"],
};

/** A tool that an agent has called. */
interface ToolCall {
  readonly id: string;
  readonly args: { readonly path: string; readonly text: string };
  readonly result: string;
}

/** How a protocol writes a request. */
interface Form {
  readonly path: string;
  /** The name of the bound of output tokens. */
  maxTokens(model: string): string;
  readonly turns: string;
  readonly tool: object;
  /** The call of a tool and its result. */
  toolTurns(call: ToolCall): object[];
  /** How a stream ends: text near its end, and among the first bytes of its last event. */
  readonly streamEnd: Pick<GoodReply, "endsWith" | "lastEvents">;
}

const FORMS: Readonly<Record<Protocol, Form>> = {
  messages: {
    path: "/v1/messages",
    maxTokens: () => "max_tokens",
    turns: "messages",
    tool: { name: TOOL, input_schema: SCHEMA },
    toolTurns: ({ id, args, result }) => [
      { role: "assistant", content: [{ type: "tool_use", id, name: TOOL, input: args }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
    ],
    streamEnd: { endsWith: '"message_stop"' },
  },
  chat: {
    path: "/v1/chat/completions",
    maxTokens: (model) => (REASONS.test(model) ? "max_completion_tokens" : "max_tokens"),
    turns: "messages",
    tool: { type: "function", function: { name: TOOL, parameters: SCHEMA } },
    toolTurns: ({ id, args, result }) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id, type: "function", function: { name: TOOL, arguments: JSON.stringify(args) } },
        ],
      },
      { role: "tool", tool_call_id: id, content: result },
    ],
    streamEnd: { endsWith: "[DONE]" },
  },
  responses: {
    path: "/v1/responses",
    maxTokens: () => "max_output_tokens",
    turns: "input",
    tool: { type: "function", name: TOOL, parameters: SCHEMA, strict: false },
    toolTurns: ({ id, args, result }) => [
      { type: "function_call", call_id: id, name: TOOL, arguments: JSON.stringify(args) },
      { type: "function_call_output", call_id: id, output: result },
    ],
    streamEnd: { endsWith: "}", lastEvents: ["response.completed", "response.incomplete"] },
  },
};

/** A call of an agent. */
export interface AgentCall {
  readonly protocol: Protocol;
  readonly model: string;
  readonly kind: Kind;
  /** Bytes of the body. A short one has more: its model, tool and prompt. */
  readonly bytes: number;
  readonly stream: boolean;
  readonly maxTokens: number;
  /** The last turn of the user. */
  readonly prompt: string;
}

/** Returns a request with a conversation of this size, and what a good reply to it is. */
export function agentCall(call: AgentCall): Workload {
  const { protocol, model, kind, bytes, stream, maxTokens, prompt } = call;
  const form = FORMS[protocol];
  // A call of a tool has its text twice.
  const turnBytes = Math.max(Math.min(TURN_BYTES[kind], bytes / 16), bytes / TURNS_MAX);
  const text = repeated(TEXTS[kind], turnBytes);
  const turns: object[] = [];
  const last = { role: "user", content: prompt };
  const body = {
    model,
    [form.maxTokens(model)]: maxTokens,
    ...(kind !== "prose" && { tools: [form.tool] }),
    [form.turns]: turns,
    stream,
  };
  let left = bytes - bytesOf(body) - bytesOf(last);
  for (let at = 0; ; at++) {
    const next = kind === "prose" ? said(text) : toolTurns(form, `call_${at}`, text);
    // A turn adds a comma and not the brackets of its list.
    const size = bytesOf(next) - 1;
    if (size > left) break;
    turns.push(...next);
    left -= size;
  }
  turns.push({ ...last, content: proseOf(left) + prompt });
  return { path: form.path, body: JSON.stringify(body), ...goodReplyOf(protocol, stream) };
}

/** Returns the path of a protocol, from `/v1` on. */
export function pathOf(protocol: Protocol): string {
  return FORMS[protocol].path;
}

/** Returns what a good reply is. */
export function goodReplyOf(protocol: Protocol, stream: boolean): GoodReply {
  return stream
    ? { mediaType: "text/event-stream", ...FORMS[protocol].streamEnd }
    : { mediaType: "application/json", endsWith: "}" };
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function said(content: string): object[] {
  return [
    { role: "user", content },
    { role: "assistant", content },
  ];
}

function toolTurns(form: Form, id: string, text: string): object[] {
  return [
    { role: "user", content: "Write it." },
    ...form.toolTurns({ id, args: { path: `src/${id}.ts`, text }, result: text }),
    { role: "assistant", content: "Done." },
  ];
}

/** Returns prose of exactly this size, which JSON does not escape. */
function proseOf(bytes: number): string {
  const whole = Math.max(0, Math.floor(bytes / Buffer.byteLength(TEXTS.prose)));
  const prose = TEXTS.prose.repeat(whole);
  return prose + ".".repeat(Math.max(0, bytes - Buffer.byteLength(prose)));
}

function repeated(text: string, length: number): string {
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}
