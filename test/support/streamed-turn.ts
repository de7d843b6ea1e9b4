import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Customer } from "./admin.ts";
import type { TestGateway } from "./gateway.ts";

export type ChatProtocol = "messages" | "chat" | "responses";

/** A body or a turn; protocols and clients differ. */
// Untyped, because a missing field fails the assertion that reads it.
// biome-ignore lint/suspicious/noExplicitAny: turns have many shapes
type Json = any;

/** A turn of a model as a client keeps it, and what it calls. */
export interface StreamedTurn {
  readonly turns: readonly Json[];
  readonly calls: readonly { readonly id: string; readonly custom: boolean }[];
}

/**
 * Streams a call with the protocol's official client and returns the model's turn as a client sends it
 * back. A Chat client keeps only the fields that OpenAI's API has.
 */
export async function streamedTurn(
  gateway: Pick<TestGateway, "url">,
  { key: apiKey }: Pick<Customer, "key">,
  protocol: ChatProtocol,
  body: Json,
  headers: Readonly<Record<string, string>> = {},
): Promise<StreamedTurn> {
  if (protocol === "messages") {
    const client = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
    const { content } = await client.messages.stream(body, { headers }).finalMessage();
    const calls = content.filter(({ type }) => type === "tool_use").map(({ id }: Json) => id);
    return { turns: [{ role: "assistant", content }], calls: called(calls) };
  }
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  if (protocol === "chat") {
    const reply = await client.chat.completions.stream(body, { headers }).finalChatCompletion();
    const { content, tool_calls = [] } = reply.choices[0]?.message ?? {};
    const made = tool_calls.map(({ id, type, function: { name, arguments: given } }: Json) => ({
      ...{ id, type, function: { name, arguments: given } },
    }));
    const turn = { role: "assistant", content, ...(made.length > 0 && { tool_calls: made }) };
    return { turns: [turn], calls: called(made.map(({ id }: Json) => id)) };
  }
  const { output } = await client.responses.stream(body, { headers }).finalResponse();
  // Leaves out the fields that the client has added by parsing.
  const turns = JSON.parse(
    JSON.stringify(output, (name, value: unknown) => (/^parsed/.test(name) ? undefined : value)),
  ) as Json[];
  const calls = turns.filter(({ type }) => /^(function|custom_tool)_call$/.test(type));
  return {
    turns,
    calls: calls.map(({ type, call_id }) => ({ id: call_id, custom: type === "custom_tool_call" })),
  };
}

/** The turns that bring the results of calls. */
export function resultTurns(
  protocol: ChatProtocol,
  calls: StreamedTurn["calls"],
  result: unknown = "ok",
): Json[] {
  if (protocol === "chat") {
    return calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: result }));
  }
  if (protocol === "responses") {
    return calls.map(({ id, custom }) => ({
      type: custom ? "custom_tool_call_output" : "function_call_output",
      call_id: id,
      output: result,
    }));
  }
  const content = calls.map(({ id }) => ({
    ...{ type: "tool_result", tool_use_id: id, content: result },
  }));
  return [{ role: "user", content }];
}

function called(ids: readonly string[]): StreamedTurn["calls"] {
  return ids.map((id) => ({ id, custom: false }));
}
