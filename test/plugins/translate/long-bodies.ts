import { readFileSync } from "node:fs";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";

const LONG = 'and "so" on,\n ạ 🌏 \\u0041 \ud800 '.repeat(20);
/** A translation looks at a text only at its ends. */
const TEXTS: readonly ((value: string) => string)[] = [
  (value) => `A ${value}${LONG}end.`,
  (value) => `Đúng ${LONG}${value}!`,
  (value) => `${value}${LONG} `,
  () => `Error: ${LONG}x`,
  () => `data:text/plain,${LONG}x`,
  () => " \n".repeat(300),
  () => "\u00a0".repeat(300),
  () => "\u3000\u1680\ufeff".repeat(200),
  (value) => `\n${LONG}${value}`,
  (value) => `HTTPS://${LONG}${value}`,
  (value) => `ạ ${LONG}${value}`,
  (value) => `{"${value}":1}${" ".repeat(300)}`,
  () => `Z${LONG}x-anthropic-billing-header: 1\nlast`,
  () => `Z${LONG}ends with a line\n`,
  () => `Z${LONG}\u00a0`,
];

/** Fields that hold the text of a conversation, or of agents' tools. */
const TEXT_FIELDS: ReadonlySet<string> = new Set([
  ...["arguments", "content", "input", "output", "reasoning_content", "text", "thinking"],
  ...["description", "code", "command", "query"],
]);

function withLongTexts(body: JsonObject, seed: number): JsonObject {
  let count = seed;
  return JSON.parse(JSON.stringify(body), (name, value) => {
    if (typeof value !== "string" || !TEXT_FIELDS.has(name)) return value;
    return count++ % 3 === 0 ? value : TEXTS[(count * 7) % TEXTS.length]?.(value);
  });
}

/** Returns the JSON of a request, with long texts of many kinds, and long enough to be translated in a thread. */
export function longBody(body: JsonObject, seed: number): Buffer {
  const text = JSON.stringify(withLongTexts(body, seed)).padEnd(70_000);
  return Buffer.from(text.replaceAll("\\\\u0041", "\\u0041"));
}

export const PROFILES: readonly Profile[] = [
  {},
  { mid_system: "user", user_after_tool: false, prefill: false, system_messages: "one" },
  { maker: "deepseek", replay: "reasoning_content", replay_fill: "", developer_role: "system" },
  { mid_system: "hoist", forced_tools: "refuse", sampling: "none", prefill: false },
];

/** Requests of Responses clients. */
export const RESPONSES: readonly JsonObject[] = [
  { input: [{ role: "user", content: "Hello" }] },
  {
    instructions: "Be brief.",
    tools: [{ type: "function", name: "read", parameters: { type: "object" } }],
    input: [
      { role: "developer", content: [{ type: "input_text", text: "Careful." }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Read it" }] },
      { type: "function_call", call_id: "c", name: "read", arguments: '{"text":"a"}' },
      { type: "function_call_output", call_id: "c", output: "the file" },
      { role: "assistant", content: [{ type: "output_text", text: "Done" }] },
      { role: "user", content: [{ type: "input_text", text: "Go on" }] },
    ],
  },
];

/** A client's protocol, that of the upstream, and random requests of the client. */
export const CROSSINGS = [
  ["chat", "messages", chatRequest],
  ["chat", "responses", chatRequest],
  ["messages", "chat", messagesRequest],
  ["messages", "responses", messagesRequest],
] as const;

interface Case {
  readonly direction: "messages->chat" | "chat->messages";
  readonly kind: string;
  readonly ctx?: { readonly profile?: Profile };
  readonly input: JsonObject;
}

const file = new URL("../../../../test/plugins/translate/cases.json", import.meta.url);
const cases: readonly Case[] = JSON.parse(readFileSync(file, "utf8"));

/** The requests of the translation cases. */
export const REQUEST_CASES = cases.flatMap(({ direction, kind, ctx, input }) => {
  if (kind !== "request" || typeof input !== "object" || input === null) return [];
  const [client, to] =
    direction === "chat->messages"
      ? (["chat", "messages"] as const)
      : (["messages", "chat"] as const);
  return [{ client, to, input, profile: ctx?.profile ?? {} }];
});
