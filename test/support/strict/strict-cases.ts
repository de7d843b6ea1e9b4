import type { JsonObject } from "../../../core/process/json.ts";

/** A request that breaks one rule: the rule's id, the model, and what differs from a plain request. */
export type StrictCase = readonly [
  id: string,
  model: string,
  change: JsonObject,
  headers?: Readonly<Record<string, string>>,
];

const PNG = (width: number) => {
  const head = Buffer.alloc(24);
  head.write("\x89PNG\r\n\x1a\n", "latin1");
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(8, 20);
  return head.toString("base64");
};

const user = (content: unknown) => ({ role: "user", content });
const said = (content: unknown) => ({ role: "assistant", content });
const turns = (...messages: unknown[]) => ({ messages });
const long = (tokens: number) => turns(user("a".repeat(4 * tokens)));

const image = (source: object) => turns(user([{ type: "image", source }]));
const base64 = (media_type: string, data: string) => ({ type: "base64", media_type, data });
const pdf = (pages: number) => Buffer.from("/Type /Page\n".repeat(pages)).toString("base64");
const thinking = { type: "thinking", thinking: "t" };
const use = (id: string) => ({ type: "tool_use", id, name: "look", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "x" });

const claudeTool = { name: "look", input_schema: { type: "object" } };
const schema = (more: object) => ({ type: "object", properties: {}, ...more });
const strictTool = (input_schema: object) => ({ name: "look", strict: true, input_schema });
const claudeFormat = (schema: object) => ({
  output_config: { format: { type: "json_schema", schema } },
});
const manyProperties = (count: number, property: object) =>
  schema({
    properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, property])),
    additionalProperties: false,
  });
const tool = (name: string, parameters: unknown, more: object = {}) => ({
  type: "function",
  function: { name, parameters, ...more },
});
const look = tool("look", schema({}));
const call = (id: string, more: object = {}) => ({
  id,
  type: "function",
  function: { name: "look", arguments: "{}" },
  ...more,
});
const calling = (...tool_calls: unknown[]) => ({ role: "assistant", content: null, tool_calls });
const toolTurn = (tool_call_id: string, content: unknown = "x") => ({
  role: "tool",
  tool_call_id,
  content,
});
const unanswered = turns(user("a"), calling(call("c1")), user("b"));
const orphan = turns(user("a"), toolTurn("c9"));
const developer = turns({ role: "developer", content: "a" }, user("b"));
const picture = turns(
  user([{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]),
);
const forced = { tools: [look], tool_choice: "required" };

const BEDROCK = "global.anthropic.claude-opus-5-5";

export const messagesCases: readonly StrictCase[] = [
  ["a-unknown-field", "claude-opus-5", { reasoning_effort: "low" }],
  ["a-beta-field", "claude-opus-5", { context_management: { edits: [] } }],
  ["a-beta-field", "claude-opus-5", { output_config: { task_budget: { type: "tokens" } } }],
  ["a-beta-thinking", "claude-opus-5-5", { thinking: { type: "adaptive", display: "updates" } }],
  ["a-beta-thinking", "claude-opus-5-5", { thinking: { type: "adaptive", block_binding: {} } }],
  [
    "a-beta-turn",
    "claude-opus-5-5",
    turns(user("a"), { role: "system", content: "b", output_config: { effort: "low" } }),
  ],
  [
    "a-beta-tool-change",
    "claude-opus-5-5",
    turns(user("a"), {
      role: "system",
      content: [{ type: "tool_removal", tool: { type: "tool_reference", name: "look" } }],
    }),
  ],
  ["a-bedrock-beta", BEDROCK, {}, { "anthropic-beta": "prompt-caching-scope-2026-01-05" }],
  [
    "a-bedrock-scope",
    BEDROCK,
    {
      system: [{ type: "text", text: "a", cache_control: { type: "ephemeral", scope: "global" } }],
    },
  ],
  ["a-bedrock-deferred", BEDROCK, { tools: [{ ...claudeTool, defer_loading: true }] }],
  ["a-bedrock-cache", BEDROCK, { cache_control: { type: "ephemeral" } }],
  ["a-bedrock-format", BEDROCK, claudeFormat(schema({ additionalProperties: false }))],
  ["a-bedrock-strict", BEDROCK, { tools: [strictTool(schema({}))] }],
  ["a-max-tokens-cap", "claude-haiku-4-5", { max_tokens: 128_000 }],
  ["a-prompt-too-long", "claude-haiku-4-5", long(200_001)],
  ["a-system-not-empty", "claude-opus-5", { system: [{ type: "text", text: " " }] }],
  ["a-sampling-removed", "claude-opus-5-5", { temperature: 0.2 }],
  ["a-sampling-both", "claude-haiku-4-5", { temperature: 0.2, top_p: 0.9 }],
  [
    "a-sampling-thinking",
    "claude-haiku-4-5",
    { max_tokens: 4096, temperature: 0.2, thinking: { type: "enabled", budget_tokens: 2048 } },
  ],
  ["a-temperature-range", "claude-haiku-4-5", { temperature: 1.5 }],
  ["a-stop-blank", "claude-opus-5", { stop_sequences: [" "] }],
  [
    "a-thinking-budget-removed",
    "claude-opus-5",
    { max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 2048 } },
  ],
  ["a-thinking-disabled-removed", "claude-opus-5-5", { thinking: { type: "disabled" } }],
  ["a-thinking-adaptive-missing", "claude-haiku-4-5", { thinking: { type: "adaptive" } }],
  ["a-between-tools-only-sonnet-5-5", "claude-opus-5", { thinking: { type: "between_tools" } }],
  [
    "a-effort-without-thinking",
    "claude-opus-5",
    { thinking: { type: "disabled" }, output_config: { effort: "max" } },
  ],
  ["a-effort-values", "claude-haiku-4-5", { output_config: { effort: "low" } }],
  ["a-budget-min", "claude-haiku-4-5", { thinking: { type: "enabled", budget_tokens: 5 } }],
  [
    "a-budget-below-cap",
    "claude-haiku-4-5",
    { max_tokens: 1024, thinking: { type: "enabled", budget_tokens: 1024 } },
  ],
  [
    "a-forced-tool-newest",
    "claude-opus-5-5",
    { tools: [claudeTool], tool_choice: { type: "any" } },
  ],
  [
    "a-forced-tool-thinking",
    "claude-haiku-4-5",
    {
      ...{ tools: [claudeTool], tool_choice: { type: "any" }, max_tokens: 4096 },
      thinking: { type: "enabled", budget_tokens: 2048 },
    },
  ],
  [
    "a-forced-tool-thinking",
    "claude-sonnet-4-6",
    { tools: [claudeTool], tool_choice: { type: "any" }, thinking: { type: "adaptive" } },
  ],
  ["a-tool-name", "claude-opus-5", { tools: [{ ...claudeTool, name: "a.b" }] }],
  ["a-tool-names-unique", "claude-opus-5", { tools: [claudeTool, claudeTool] }],
  [
    "a-tool-schema-object",
    "claude-opus-5",
    { tools: [{ name: "look", input_schema: { anyOf: [] } }] },
  ],
  [
    "a-computer-tool-old",
    "claude-opus-5-5",
    { tools: [{ type: "computer_20251124", name: "computer" }] },
  ],
  ["a-image-bytes", "claude-opus-5", image(base64("image/jpeg", PNG(1)))],
  ["a-choice-needs-tools", "claude-opus-5", { tool_choice: { type: "auto" } }],
  ...[
    { properties: { a: { type: "integer", minimum: 1 } } },
    { properties: { a: { oneOf: [] } } },
    { properties: { a: { type: "array", minItems: 2 } } },
    { properties: { a: { format: "ulid" } } },
    { additionalProperties: { type: "string" } },
  ].flatMap((more) => {
    const closed = schema({ additionalProperties: false, ...more });
    return [
      ["a-schema", "claude-opus-5", claudeFormat(closed)] as const,
      ["a-schema", "claude-opus-5", { tools: [strictTool(closed)] }] as const,
    ];
  }),
  [
    "a-schema",
    "claude-opus-5",
    { tools: [{ ...claudeTool, input_schema: schema({ required: null }) }] },
  ],
  [
    "a-schema",
    "claude-opus-5",
    {
      tools: Array.from({ length: 21 }, () => strictTool(schema({ additionalProperties: false }))),
    },
  ],
  ["a-schema", "claude-opus-5", claudeFormat(manyProperties(25, { type: "string" }))],
  ["a-schema", "claude-opus-5", claudeFormat(manyProperties(17, { type: ["string", "null"] }))],
  ["a-prefill", "claude-opus-5", turns(user("a"), said("b"))],
  ["a-prefill-trailing-space", "claude-haiku-4-5", turns(user("a"), said("b "))],
  ["a-system-role", "claude-sonnet-5", turns(user("a"), { role: "system", content: "b" })],
  [
    "a-system-place",
    "claude-opus-5",
    turns(user("a"), said("b"), { role: "system", content: "c" }, user("d")),
  ],
  ["a-calls-answered", "claude-opus-5", turns(user("a"), said([use("t1")]), user("b"))],
  ["a-result-orphan", "claude-opus-5", turns(user([result("t9")]))],
  ["a-tool-id", "claude-opus-5", turns(user("a"), said([use("t:1")]), user([result("t:1")]))],
  [
    "a-thinking-first",
    "claude-haiku-4-5",
    {
      ...turns(user("a"), said([use("t1")]), user([result("t1")])),
      ...{ max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 2048 } },
    },
  ],
  [
    "a-thinking-first",
    "claude-haiku-4-5",
    {
      ...turns(user("a"), said([use("t1")]), user([result("t1")]), user("b")),
      ...{ max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 2048 } },
    },
  ],
  [
    "a-thinking-off-final",
    "claude-haiku-4-5",
    turns(
      ...[user("a"), said([thinking, use("t1")]), user([result("t1")])],
      ...[said([use("t2")]), user([result("t2")])],
    ),
  ],
  ["a-text-not-empty", "claude-opus-5", turns(user([{ type: "text", text: "" }]))],
  ["a-content-not-empty", "claude-opus-5", turns(user([]), said("b"), user("c"))],
  [
    "a-cache-marks",
    "claude-opus-5",
    turns(
      user(
        Array.from({ length: 5 }, () => ({
          ...{ type: "text", text: "a" },
          cache_control: { type: "ephemeral" },
        })),
      ),
    ),
  ],
  [
    "a-cache-on-thinking",
    "claude-opus-5",
    turns(user("a"), said([{ ...thinking, cache_control: { type: "ephemeral" } }]), user("c")),
  ],
  ["a-image-type", "claude-opus-5", image(base64("image/tiff", "AA"))],
  ["a-image-5mb", "claude-opus-5", image(base64("image/png", "A".repeat(7 << 20)))],
  ["a-image-pixels", "claude-opus-5", image(base64("image/png", PNG(9_000)))],
  [
    "a-pdf-pages",
    "claude-haiku-4-5",
    turns(user([{ type: "document", source: base64("application/pdf", pdf(101)) }])),
  ],
  ["a-signature-own", "claude-opus-5", turns(user("a"), said([thinking]), user("c"))],
];

export const chatCases: readonly StrictCase[] = [
  ["o-unknown-field", "gpt-4.1", { top_k: 3 }],
  ["o-cap-name", "gpt-5.6-sol", { max_tokens: 100 }],
  ["o-temperature", "gpt-5.6-sol", { temperature: 0 }],
  ["o-top-p", "o4-mini", { top_p: 0.5 }],
  ["o-stop-reasoning", "o4-mini", { stop: ["a"] }],
  ["o-penalties", "gpt-5.5", { presence_penalty: 1 }],
  ["o-effort-values", "gpt-4.1", { reasoning_effort: "low" }],
  ["o-cap-range", "gpt-4.1", { max_completion_tokens: 50_000 }],
  ["o-tokens-per-minute", "gpt-4.1", { max_completion_tokens: 32_768 }],
  ["o-stop-4", "gpt-4.1", { stop: ["a", "b", "c", "d", "e"] }],
  ["o-tool-id-40, o-tools-128, o-user-64", "gpt-4.1", { user: "u".repeat(65) }],
  ["o-tools-effort", "gpt-5.4", { tools: [look], reasoning_effort: "low" }],
  ["o-tools-default-effort", "gpt-5.6-sol", { tools: [look] }],
  ["o-parallel-needs-tools", "gpt-4.1", { parallel_tool_calls: false }],
  ["o-tool-shape", "gpt-4.1", { tools: [{ type: "custom", name: "a" }] }],
  ["o-tool-shape", "gpt-4.1", { tools: [{ name: "a", input_schema: schema({}) }] }],
  ["o-empty-calls", "gpt-4.1", turns(user("a"), { ...said("b"), tool_calls: [] }, user("c"))],
  ["o-part-type", "gpt-4.1", turns(user([result("t1")]))],
  ["o-tool-name", "gpt-4.1", { tools: [tool("a.b", schema({}))] }],
  ...[
    { properties: { a: { pattern: "^\\p{L}$" } } },
    { properties: { a: { pattern: "^(?!\\.)[a-z.]+@" } } },
    { patternProperties: { "(?<=a)b": {} } },
    { items: { patternProperties: { "(?<a>b)": {} } } },
    { properties: { e: { type: "array", items: { type: ["array", "null"] } } } },
    { properties: { e: { items: [{}] } } },
    { required: null },
    { $id: "Parameters Schema" },
  ].map((more) => ["o-schema", "gpt-4.1", { tools: [tool("a", schema(more))] }] as const),
  [
    "o-schema",
    "gpt-4.1",
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "a", schema: schema({ anyOf: [{ pattern: "[^]" }] }) },
      },
    },
  ],
  ["o-strict-subset", "gpt-4.1", { tools: [tool("a", schema({ anyOf: [] }))] }],
  [
    "o-strict-subset",
    "gpt-4.1",
    { tools: [tool("a", schema({ format: "uri" }), { strict: true })] },
  ],
  [
    "o-strict-subset",
    "gpt-4.1",
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "a", schema: { type: "array" } },
      },
    },
  ],
  ["o-strict-schema", "gpt-4.1", { tools: [tool("a", schema({}), { strict: true })] }],
  [
    "o-format-schema",
    "gpt-4.1",
    {
      response_format: {
        ...{ type: "json_schema", json_schema: { name: "a", strict: true, schema: schema({}) } },
      },
    },
  ],
  ["o-pairing", "gpt-4.1", unanswered],
  ["o-null-content", "gpt-4.1", turns(user("a"), said(null), user("b"))],
  [
    "o-tool-text-only",
    "gpt-4.1",
    turns(
      user("a"),
      calling(call("c1")),
      toolTurn("c1", [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]),
    ),
  ],
  [
    "o-image-type",
    "gpt-4.1",
    turns(user([{ type: "image_url", image_url: { url: "data:image/tiff;base64,AA" } }])),
  ],
  ["o-json-word", "gpt-4.1", { response_format: { type: "json_object" } }],
  ["o-context", "o4-mini", long(200_001)],
  ["g-unknown-field", "gemini-3.5-flash", { store: false }],
  ["g-not-empty", "gemini-3.5-flash", turns({ role: "system", content: "a" })],
  ["g-effort-values", "gemini-3.1-pro-preview", { reasoning_effort: "minimal" }],
  ["g-penalties", "gemini-3.8-flash", { presence_penalty: 1 }],
  ["g-model-turn", "gemini-3.5-flash-lite", turns(user("a"), said("b"))],
  ["g-cap-range", "gemini-3.5-flash", { max_tokens: 70_000 }],
  [
    "g-schema",
    "gemini-3.5-flash",
    { tools: [tool("a", schema({ properties: { e: { items: { type: "array" } } } }))] },
  ],
  ...[
    { enum: [1, 2] },
    { enum: ["a", null] },
    { enum: [""] },
    { enum: ["1"], type: "integer" },
  ].map(
    (e) =>
      [
        "g-schema",
        "gemini-3.5-flash",
        { tools: [tool("a", schema({ properties: { e } }))] },
      ] as const,
  ),
  ["g-tool-name", "gemini-3.5-flash", { tools: [tool("1a", schema({}))] }],
  ["g-response-count", "gemini-2.5-pro", unanswered],
  [
    "g-turn-order",
    "gemini-2.5-pro",
    turns(user("a"), said("b"), calling(call("c1")), toolTurn("c1")),
  ],
  [
    "g-thought-signature, g-thought-own",
    "gemini-3.5-flash",
    turns(user("a"), calling(call("c1")), toolTurn("c1")),
  ],
  ["g-context", "gemini-3.5-flash", long(1_048_577)],
  ["x-stop, x-penalties", "grok-4.5", { stop: ["a"] }],
  ["x-effort-absent", "grok-4-fast", { reasoning_effort: "low" }],
  ["x-effort-values", "grok-4.5", { reasoning_effort: "none" }],
  [
    "x-schema-circle",
    "grok-4.5",
    {
      tools: [
        tool("a", schema({ $defs: { n: { items: { $ref: "#/$defs/n" } } }, $ref: "#/$defs/n" })),
      ],
    },
  ],
  ["x-pairing", "grok-4.3", unanswered],
  ["x-context", "grok-4.5", long(500_001)],
  ["d-role", "deepseek-v4-pro", developer],
  ["d-text-only", "deepseek-v4-pro", picture],
  [
    "d-format",
    "deepseek-v4-pro",
    { response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } } },
  ],
  ["d-effort-values", "deepseek-v4-pro", { reasoning_effort: "none" }],
  ["d-forced-tool", "deepseek-v4-pro", forced],
  ["d-pairing", "deepseek-v4-pro", unanswered],
  ["d-reasoning-replay", "deepseek-v4-pro", turns(user("a"), said("b"), user("c"))],
  ["d-context", "deepseek-v4-pro", long(1_048_577)],
  ["d-context", "deepseek-v4-pro", { ...long(700_000), max_tokens: 384_000 }],
  ["k-temperature", "kimi-k2.6", { temperature: 0.3 }],
  ["k-top-p", "kimi-k2.6", { top_p: 1 }],
  ["k-forced-tool", "kimi-k2.6", forced],
  ["k-always-thinks", "kimi-k2.7-code", { thinking: { type: "disabled" } }],
  ["k-schema", "kimi-k2.6", { tools: [tool("a", schema({ properties: { b: {} } }))] }],
  ["k-tool-name", "kimi-k2.6", { tools: [tool("21st_search", schema({}))] }],
  ["k-parameters-object", "kimi-k2.6", { tools: [tool("a", { type: "string" })] }],
  ["k-not-empty", "kimi-k2.6", turns(user("a"), said(""), user("b"))],
  ["k-pairing", "kimi-k2.6", orphan],
  ["k-reasoning-replay", "kimi-k2.6", turns(user("a"), calling(call("c1")), toolTurn("c1"))],
  ["k-context", "kimi-k2.6", long(262_145)],
  ["k-context", "kimi-k2.6", { ...long(140_000), max_tokens: 128_000 }],
  ["b-context", "minimax.minimax-m2", { ...long(70_000), max_tokens: 128_000 }],
  ["z-user-needed", "glm-5.2", turns({ role: "system", content: "a" })],
  ["z-role", "glm-5.2", developer],
  ["z-text-only", "glm-5.2", picture],
  ["z-sampling-range", "glm-5.2", { temperature: 1.5 }],
  ["z-stop-1", "glm-5.2", { stop: ["a", "b"] }],
  ["z-tool-choice", "glm-5.2", forced],
  ["z-cap-range", "glm-5.2", { max_tokens: 131_073 }],
  ["z-pairing", "glm-5.2", unanswered],
  ["z-context", "glm-4.7", long(200_001)],
  ["q-role", "qwen3.7-max", developer],
  ["q-forced-tool", "qwen3.7-max", forced],
  ["q-cap-range", "qwen3.7-max", { max_tokens: 70_000 }],
  ["q-pairing", "qwen3.7-max", unanswered],
  [
    "q-file",
    "qwen3.7-max",
    turns(user([{ type: "file", file: { file_data: "data:application/pdf;base64,AA" } }])),
  ],
  ["q-json-word", "qwen3.7-max", { response_format: { type: "json_object" } }],
  ["q-context", "qwen3.7-max", long(997_953)],
  ["m-role", "MiniMax-M3", developer],
  ["m-one-system", "MiniMax-M3", turns(user("a"), { role: "system", content: "b" })],
  ["m-pairing", "MiniMax-M3", orphan],
  [
    "m-arguments-json",
    "MiniMax-M3",
    turns(
      user("a"),
      calling(call("c1", { function: { name: "look", arguments: "" } })),
      toolTurn("c1"),
    ),
  ],
  ["m-parameters", "MiniMax-M3", { tools: [tool("a", undefined)] }],
  ["m-temperature", "MiniMax-M3", { temperature: 0 }],
  ["m-text-only", "MiniMax-M2.7", picture],
  ["m-context", "MiniMax-M2.7", long(204_801)],
  [
    "s-extra-message-field",
    "mistral-large-3",
    turns(user("a"), { ...said("b"), reasoning_content: "c" }, user("d")),
  ],
  ["s-last-role", "mistral-large-3", turns(user("a"), said("b"))],
  [
    "s-after-tool",
    "mistral-large-3",
    turns(user("a"), calling(call("c1")), toolTurn("c1"), user("b")),
  ],
];

const fn = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
const output = { type: "function_call_output", call_id: "c1", output: "x" };
const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
const input = (...items: unknown[]) => ({ input: [user("a"), ...items] });

export const responsesCases: readonly StrictCase[] = [
  ["r-unknown-field", "gpt-5.6-sol", { stop: ["a"] }],
  ["r-sampling", "gpt-5.6-sol", { temperature: 0 }],
  [
    "r-schema",
    "gpt-5.6-sol",
    { tools: [{ type: "function", name: "a", parameters: schema({ items: { pattern: "\\e" } }) }] },
  ],
  [
    "r-strict-subset",
    "gpt-5.6-sol",
    { tools: [{ type: "function", name: "a", strict: true, parameters: schema({ allOf: [] }) }] },
  ],
  [
    "r-json-word",
    "gpt-5.6-sol",
    { instructions: "Reply in JSON.", text: { format: { type: "json_object" } } },
  ],
  ["r-cap-min", "gpt-5.6-sol", { max_output_tokens: 8 }],
  ["r-tokens-per-minute", "gpt-4.1", { max_output_tokens: 32_768 }],
  ["r-call-id-64", "gpt-5.6-sol", input({ ...fn, call_id: "c".repeat(65) })],
  ["r-calls-answered", "gpt-5.6-sol", input(fn)],
  ["r-output-orphan", "gpt-5.6-sol", input(output)],
  ["r-reasoning-shape", "gpt-5.6-sol", input({ type: "reasoning", id: "rs_1" }, fn, output)],
  [
    "r-encrypted-own",
    "grok-4.5",
    input({ ...reasoning, encrypted_content: "of another maker" }, fn, output),
  ],
  [
    "r-message-encrypted",
    "gpt-5.6-sol",
    {
      input: [
        {
          ...{ type: "agent_message", author: "/root", recipient: "/root/a" },
          content: [{ type: "encrypted_content", encrypted_content: "list the files" }],
        },
      ],
    },
  ],
  [
    "r-compaction-own",
    "gpt-5.6-sol",
    input({ type: "compaction", encrypted_content: "of another maker" }, user("b")),
  ],
  ["r-compaction-trigger", "grok-4.5", input(user("b"), { type: "compaction_trigger" })],
  ["r-reasoning-follows", "gpt-5.6-sol", input(reasoning, user("b"))],
  ["r-context", "gpt-5.6-sol", { input: "a".repeat(4 * 1_050_001) }],
  ...["custom", "namespace", "local_shell"].map(
    (type) => ["x-tool-types", "grok-4.5", { tools: [{ type, name: "a" }] }] as const,
  ),
  ["x-item-types", "grok-4.5", input({ type: "additional_tools", role: "developer", tools: [] })],
  [
    "x-item-types",
    "grok-4.5",
    input(
      { type: "custom_tool_call", call_id: "c1", name: "look", input: "x" },
      { type: "custom_tool_call_output", call_id: "c1", output: "x" },
    ),
  ],
  ["x-reasoning-content", "grok-4.5", input({ ...reasoning, content: null }, fn, output)],
  [
    "x-search-arguments",
    "grok-4.5",
    { tools: [{ type: "web_search", external_web_access: true }] },
  ],
  ["x-metadata", "grok-4.5", { metadata: { a: "b" } }],
  ["x-choice-needs-tools", "grok-4.5", { tools: [], tool_choice: "auto" }],
];

export const imageCases: readonly StrictCase[] = [
  ["i-response-format", "gpt-image-2", { response_format: "b64_json" }],
  ["i-input-fidelity", "gpt-image-2", { input_fidelity: "low" }],
];
