import t from "tap";
import { assertBalance, billedCalls, customerWith } from "../support/billed.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** The compared fields of two usage records. */
const BILLED = [
  "cost_vnd",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "estimated",
  "status",
  "outcome",
] as const;

const TOOL_CALLS: Directive = {
  tools: [
    { name: "weather", arguments: { city: "Huế", days: [1, 2] }, id: "t_1" },
    { name: "clock", id: "t_2" },
  ],
};
const REPORTED: Directive = { input_tokens: 1234, output_tokens: 567 };

const MESSAGE = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [] },
  ...{ stop_reason: null, stop_sequence: null },
};

/** Ways in which a provider replies and reports; both protocols support each of them. */
const WAYS: Readonly<Record<string, Directive>> = {
  plain: { text: "one two three", ...REPORTED },
  "counted by the provider itself": { output_tokens: 40 },
  "with no words": { text: "", input_tokens: 9, output_tokens: 0 },
  "cache read": { text: "ok", ...REPORTED, cache_read_tokens: 1000 },
  "cache read and written": {
    text: "ok",
    ...REPORTED,
    cache_read_tokens: 600,
    cache_write_tokens: 400,
  },
  "all of it cached": { text: "ok", ...REPORTED, cache_read_tokens: 1234 },
  reasoning: { text: "ok", thinking: "Let me think.", ...REPORTED, reasoning_tokens: 500 },
  "reasoning alone": { text: "", thinking: "Hm.", ...REPORTED, reasoning_tokens: 567 },
  tools: { ...TOOL_CALLS, ...REPORTED },
  refusal: { refusal: "No.", ...REPORTED },
  "usage missing": { text: "Mưa to ở Huế. ".repeat(20), usage: "missing" },
  "usage missing, reasoning": { thinking: "Let me think.", text: "Yes.", usage: "missing" },
  "usage missing, tools": { ...TOOL_CALLS, usage: "missing" },
  "usage zero": { text: "one two three", usage: "zero" },
  "usage in every chunk": { text: "one two three", ...REPORTED, usage: "every_chunk" },
  "usage with the finish": { text: "one two three", ...REPORTED, usage: "with_finish" },
  "usage late": { text: "one two three", ...REPORTED, usage: "late" },
  "cut off by the limit": { output_tokens: 9000 },
  "broken off": { text: "one two three", ...REPORTED, cut_after_events: 5 },
  "ended too early": { text: "one two three", ...REPORTED, end_after_events: 5 },
  "failed on the way": { text: "one two three", ...REPORTED, error_after_events: 5 },
};

/** One conversation in each protocol. */
interface Conversation {
  readonly name: string;
  readonly messages: object;
  readonly chat: object;
}

const CITY = { type: "object", properties: { city: { type: "string" } } };
const RESULT = "31 °C and sunny";

const conversations: readonly ((prompt: string) => Conversation)[] = [
  (prompt) => ({
    name: "a question",
    messages: { messages: [{ role: "user", content: prompt }] },
    chat: { messages: [{ role: "user", content: prompt }] },
  }),
  (prompt) => ({
    name: "a conversation with a system prompt, tools and their results",
    messages: {
      system: "Be brief.",
      tools: [{ name: "weather", description: "The weather.", input_schema: CITY }],
      messages: [
        { role: "user", content: "How is Huế?" },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Let me look." },
            { type: "tool_use", id: "t_0", name: "weather", input: { city: "Huế" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t_0", content: RESULT },
            { type: "text", text: prompt },
          ],
        },
      ],
    },
    chat: {
      tools: [
        {
          type: "function",
          function: { name: "weather", description: "The weather.", parameters: CITY },
        },
      ],
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "How is Huế?" },
        {
          role: "assistant",
          content: "Let me look.",
          tool_calls: [
            {
              id: "t_0",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Huế"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "t_0", content: RESULT },
        { role: "user", content: prompt },
      ],
    },
  }),
];

/** The second of these conversations in Responses, as long as the gateway writes it. */
function itemsOf(prompt: string): object {
  const call_id = "t_0";
  const said = (text: string) => ({ role: "user", content: [{ type: "input_text", text }] });
  const begun = { type: "output_text", text: "Let me look." };
  const tool = { name: "weather", description: "The weather.", parameters: CITY };
  return {
    ...{ instructions: "Be brief.", store: false, include: ["reasoning.encrypted_content"] },
    tools: [{ type: "function", ...tool, strict: false }],
    input: [
      said("How is Huế?"),
      { type: "message", role: "assistant", phase: "commentary", content: [begun] },
      { type: "function_call", call_id, name: "weather", arguments: '{"city":"Huế"}' },
      { type: "function_call_output", call_id, output: RESULT },
      said(prompt),
    ],
  };
}

t.test("a translated call costs the same as untranslated, to the µđ", async (t) => {
  const gateway = await sharedGateway();

  /** The usage records of consecutive calls on one endpoint. */
  async function billed(path: string, bodies: readonly object[]) {
    const customer = await customerWith(gateway, 1_000_000);
    for (const body of bodies) await post(gateway, path, customer, body).catch(() => "broken off");
    const records = await billedCalls(gateway, customer, bodies.length);
    return records
      .reverse()
      .map((record) => Object.fromEntries(BILLED.map((name) => [name, record[name]])));
  }

  for (const model of ["claude-opus-5-5", "gpt-4.1-nano", "deepseek-v4-flash"]) {
    for (const stream of [false, true]) {
      t.test(`${model}, ${stream ? "streamed" : "unstreamed"}`, async (t) => {
        const table = Object.entries(WAYS).flatMap(([way, directive]) =>
          conversations.map((conversation) => ({ way, ...conversation(asking(directive)) })),
        );
        const common = { model, max_tokens: 4096, stream };
        const [messages, chat] = await Promise.all([
          billed(
            paths.messages,
            table.map((row) => ({ ...common, ...row.messages })),
          ),
          billed(
            paths.chat,
            table.map((row) => ({ ...common, ...row.chat })),
          ),
        ]);
        for (const [at, { way, name }] of table.entries()) {
          t.ok(messages[at]?.["status"]);
          t.strictSame(chat[at], messages[at], `${way}: ${name}`);
        }
      });
    }
  }

  t.test("with tools and thinking, which go out as Responses", async (t) => {
    const model = "gpt-5.6-sol";
    for (const stream of [false, true]) {
      const ways = Object.entries(WAYS);
      const common = { model, stream };
      const table = ways.map(([, directive]) => {
        const prompt = asking(directive);
        const [, withTools] = conversations;
        return { ...withTools?.(prompt), responses: itemsOf(prompt) };
      });
      const [messages, chat, responses] = await Promise.all([
        billed(
          paths.messages,
          table.map((row) => ({ ...common, max_tokens: 4096, ...row.messages })),
        ),
        billed(
          paths.chat,
          table.map((row) => ({ ...common, max_completion_tokens: 4096, ...row.chat })),
        ),
        billed(
          paths.responses,
          table.map((row) => ({ ...common, max_output_tokens: 4096, ...row.responses })),
        ),
      ]);
      for (const [at, [way]] of ways.entries()) {
        t.ok(messages[at]?.["status"]);
        t.strictSame(messages[at], responses[at], `Messages, ${way}, ${stream}`);
        t.strictSame(chat[at], responses[at], `Chat, ${way}, ${stream}`);
      }
    }
  });

  t.test("for a refusal before any text: nothing, though its client may read why", async (t) => {
    const usage = { input_tokens: 1234, output_tokens: 5 };
    const why = { type: "refusal", category: "general_harms", explanation: "I must not." };
    const block = [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_stop", index: 0 },
    ];
    const events = (blocks: readonly { type: string }[], stop_details: object | null) =>
      [
        { type: "message_start", message: { ...MESSAGE, usage } },
        ...blocks,
        { type: "message_delta", delta: { stop_reason: "refusal", stop_details }, usage },
        { type: "message_stop" },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const ways = [events([], why), events(block, null), events(block, why)];
    for (const path of [paths.messages, paths.chat, paths.responses]) {
      const bodies = ways.map((reply) => {
        const content = asking({ reply });
        const input =
          path === paths.responses ? { input: content } : { messages: [{ role: "user", content }] };
        return {
          model: "claude-opus-5-5",
          stream: true,
          ...input,
          ...(path === paths.messages && { max_tokens: 9 }),
        };
      });
      const records = await billed(path, bodies);
      const costs = records.map(({ status, cost_vnd }) => `${status} ${cost_vnd}`);
      t.strictSame(costs, ["200 0", "200 0", "200 0"], path);
    }
  });

  t.test("at a price per call: once, on either endpoint", async () => {
    const customer = await customerWith(gateway);
    const model = "req/gpt-4.1-nano";
    const messages = [{ role: "user", content: asking({ text: "ok" }) }];
    for (const stream of [false, true]) {
      await post(gateway, paths.messages, customer, { model, max_tokens: 9, stream, messages });
      await post(gateway, paths.chat, customer, { model, stream, messages });
    }
    await billedCalls(gateway, customer, 4);
    // Four calls of 230 đ.
    await assertBalance(gateway, customer, "99080");
  });
});
