import type { Customer } from "./admin.ts";
import type { TestGateway } from "./gateway.ts";
import { paths, post } from "./requests.ts";

/** How a client of a protocol behaves. */
export interface AgentOptions {
  readonly protocol: "messages" | "chat";
  /** The model of each step; the last one serves all further steps. */
  readonly models: readonly string[];
  /** Tasks of the user, each with several steps. Default 1. */
  readonly tasks?: number;
  /** Sends back only the fields that the protocol's own client knows. */
  readonly dropsUnknown?: boolean;
  /** Fields that each request has beside model, messages and tools. */
  readonly fields?: object;
}

const SCHEMA = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
};

const TOOLS = {
  messages: ["read", "list"].map((name) => ({ name, input_schema: SCHEMA })),
  chat: ["read", "list"].map((name) => ({
    type: "function",
    function: { name, parameters: SCHEMA },
  })),
};

/** A turn of a conversation in either protocol. */
// Untyped, because a missing field fails the assertion that reads it.
// biome-ignore lint/suspicious/noExplicitAny: replies have many shapes
type Json = any;

/**
 * Runs a conversation with tools, as an agent does, against the strict provider: its model calls two
 * tools at once, then one, then replies with text. Returns the numbers of calls by step, and the
 * first error.
 */
export async function runAgent(
  gateway: TestGateway,
  customer: Pick<Customer, "key">,
  options: AgentOptions,
): Promise<{ calls: number[]; error: string | undefined; messages: Json[] }> {
  const { protocol, models, tasks = 1, fields = {} } = options;
  const messages: Json[] = [];
  const calls: number[] = [];
  let step = 0;
  for (let task = 0; task < tasks; task++) {
    messages.push({ role: "user", content: `do task ${task}` });
    for (;;) {
      const model = models[Math.min(step++, models.length - 1)];
      const body = { model, messages, tools: TOOLS[protocol], ...fields };
      const limit = protocol === "messages" ? { max_tokens: 4096 } : {};
      const reply = await post(gateway, paths[protocol], customer, { ...limit, ...body });
      if (reply.status !== 200) return { calls, error: `${model}: ${reply.text}`, messages };
      const ids =
        protocol === "messages"
          ? addMessagesTurn(messages, reply.json)
          : addChatTurn(messages, reply.json, options.dropsUnknown === true);
      calls.push(ids.length);
      if (ids.length === 0) break;
    }
  }
  return { calls, error: undefined, messages };
}

function addMessagesTurn(messages: Json[], { content }: Json): string[] {
  messages.push({ role: "assistant", content });
  const ids = content
    .filter((block: Json) => block.type === "tool_use")
    .map(({ id }: Json) => id as string);
  const results = ids.map((tool_use_id: string) => ({
    ...{ type: "tool_result", tool_use_id, content: "ok" },
  }));
  if (ids.length > 0) messages.push({ role: "user", content: results });
  return ids;
}

function addChatTurn(messages: Json[], { choices }: Json, dropsUnknown: boolean): string[] {
  const { message } = choices[0];
  const tool_calls = message.tool_calls?.map(({ id, type, function: called }: Json) => ({
    ...{ id, type, function: called },
  }));
  const bare = { role: "assistant", content: message.content, ...(tool_calls && { tool_calls }) };
  messages.push(dropsUnknown ? bare : message);
  const ids = (message.tool_calls ?? []).map(({ id }: Json) => id as string);
  for (const tool_call_id of ids) messages.push({ role: "tool", tool_call_id, content: "ok" });
  return ids;
}
