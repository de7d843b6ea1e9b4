import t from "tap";
import { runAgent } from "../support/agent.ts";
import { customerWith } from "../support/billed.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import { paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** A request that its model's provider refuses unless the gateway edits it. */
interface Edit {
  readonly why: string;
  readonly protocol: "messages" | "chat" | "responses";
  readonly models: readonly string[];
  readonly change: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** The names in the header `x-svc-translate-dropped`. */
  readonly dropped?: string;
  /** The names in the header `x-svc-left-out`. */
  readonly left?: string;
}

const schema = (properties: object = {}) => ({ type: "object", properties });
const claudeTools = [{ name: "look", input_schema: schema() }];
const chatTools = [{ type: "function", function: { name: "look", parameters: schema() } }];
const user = { role: "user", content: "hello" };
const shown = (url: string) => ({
  role: "user",
  content: [
    { type: "text", text: "look" },
    { type: "image_url", image_url: { url } },
  ],
});
const forced = { tools: chatTools, tool_choice: "required" };
const system = (content: string) => ({ role: "system", content });
const format = {
  response_format: {
    type: "json_schema",
    json_schema: { name: "a", schema: { ...schema(), additionalProperties: false } },
  },
};

/** A schema that OpenAI refuses for many reasons. Built-in tools of Claude Code 2.1.259 to 2.1.265 had some of them. */
const loose = {
  $id: "Parameters Schema",
  ...schema({
    name: { type: "string", pattern: '^(?!__.*__$)[^\\p{Cc}"\\\\./[\\]]{1,200}$' },
    where: { type: "array", items: { type: ["array", "null"] } },
    pair: { type: "array", items: [{ type: "number" }, { type: "array" }] },
    pattern: { type: "object", patternProperties: { "^(?<a>.)": {} }, required: null },
  }),
};
const LOST = ["pattern", "patternProperties"];
const lostIn = (field: string) => LOST.map((name) => `${field}.${name}`).join(",");
/** A model of OpenAI in each protocol, Gemini, and models of others. */
const CHECKERS = [
  ...[
    "gpt-5.6-sol",
    "gpt-4.1",
    "gpt-6.1-terra",
    "gemini-3.5-flash",
    "gemini-3.8-flash",
    "grok-4.5",
  ],
  ...["deepseek-v4-pro", "qwen3.7-max", "glm-5.2", "MiniMax-M3", "svc/mistral-large-3-675b"],
];

/** Claude on Amazon Bedrock; from 4.7 on its schema of Messages has no structured output. */
const WITHOUT_FORMATS = ["svc/claude-opus-5-5", "svc/claude-sonnet-5", "svc/claude-opus-4-7"];
const CLAUDE_ON_BEDROCK = [...WITHOUT_FORMATS, "svc/claude-haiku-4-5"];
const scoped = { type: "ephemeral", scope: "global" };
const marked = (text: string) => ({ type: "text", text, cache_control: scoped });
const claudeFormat = {
  type: "json_schema",
  schema: format.response_format.json_schema.schema,
};
const strictTool = {
  type: "function",
  function: {
    name: "look",
    parameters: { ...schema(), required: [], additionalProperties: false },
    strict: true,
  },
};

const EDITS: readonly Edit[] = [
  {
    why: "the schemas of tools are rewritten to what the provider compiles",
    protocol: "messages",
    models: CHECKERS,
    change: { tools: [{ name: "Artifact", input_schema: loose }] },
    dropped: lostIn("tools"),
  },
  {
    why: "the schemas of tools of Responses clients are, too",
    protocol: "responses",
    models: ["gemini-3.5-flash", "qwen3.7-max"],
    change: { tools: [{ type: "function", name: "Artifact", parameters: loose }] },
    dropped: lostIn("tools"),
  },
  {
    why: "the schemas of tools are rewritten if a Chat call goes out as Responses",
    protocol: "chat",
    models: ["gpt-5.6-sol"],
    change: { tools: [{ type: "function", function: { name: "Artifact", parameters: loose } }] },
    dropped: lostIn("tools"),
  },
  {
    why: "the schema of a reply is rewritten",
    protocol: "messages",
    models: ["gpt-5.6-sol", "gpt-4.1", "gemini-3.5-flash"],
    change: { output_config: { format: { type: "json_schema", schema: loose } } },
    dropped: `${lostIn("output_config.format")},output_config.format.strict`,
  },
  {
    why: "the schema of a reply to a Responses client is rewritten",
    protocol: "responses",
    models: ["gemini-3.5-flash"],
    change: { text: { format: { type: "json_schema", name: "a", schema: loose } } },
    dropped: `${lostIn("text.format")},text.format.strict`,
  },
  {
    why: "a client that sets no limit gets what its prompt leaves of the window",
    protocol: "responses",
    models: ["kimi-k2.6", "svc/minimax-m2", "svc/glm-4.7"],
    change: { input: "a ".repeat(2 * 140_000) },
  },
  {
    why: "a stream of one does, too",
    protocol: "responses",
    models: ["kimi-k2.6", "svc/minimax-m2", "svc/glm-4.7", "svc/qwen3-next-80b-a3b"],
    change: { input: "a ".repeat(2 * 140_000), stream: true },
  },
  {
    why: "a Chat client that sets no limit does, too",
    protocol: "chat",
    models: ["kimi-k2.6", "svc/minimax-m2", "svc/glm-4.7", "svc/qwen3-next-80b-a3b"],
    change: { messages: [{ role: "user", content: "a ".repeat(2 * 140_000) }] },
  },
  {
    why: "one whose account may use few tokens a minute is sent without a limit",
    protocol: "chat",
    models: ["gpt-4.1"],
    change: {},
  },
  {
    why: "one of Responses is, too",
    protocol: "responses",
    models: ["gpt-4.1"],
    change: {},
  },
  {
    why: "settings of turns are named, and the tools that a turn adds or removes are the list",
    protocol: "messages",
    models: ["gpt-5.6-sol", "gpt-4.1", "gemini-3.5-flash", "deepseek-v4-pro"],
    change: {
      tools: [{ name: "look", input_schema: schema() }],
      thinking: { type: "adaptive", display: "updates" },
      messages: [
        user,
        {
          role: "system",
          content: [
            { type: "tool_removal", tool: { type: "tool_reference", name: "look" } },
            {
              type: "tool_addition",
              tool: { type: "tool_definition", definition: { name: "find", input_schema: {} } },
            },
          ],
          output_config: { effort: "low" },
          clear_at: "next_user_message",
        },
      ],
    },
    dropped: "messages.output_config,messages.clear_at,thinking.display",
  },
  {
    why: "sampling that Claude no longer takes is dropped",
    protocol: "messages",
    models: ["claude-opus-5-5", "claude-opus-4-7", "svc/claude-sonnet-5"],
    change: { temperature: 0.2, top_k: 3 },
    dropped: "temperature,top_k",
  },
  {
    why: "an alias is served by the profile of its model",
    protocol: "messages",
    models: ["claude-3-5-haiku-20241022"],
    change: { temperature: 0.2, max_tokens: 300_000, thinking: { type: "disabled" } },
    dropped: "thinking,temperature",
  },
  {
    why: "temperature and top_p go one at a time",
    protocol: "messages",
    models: ["claude-haiku-4-5", "claude-sonnet-4-6"],
    change: { temperature: 0.2, top_p: 0.9 },
    dropped: "top_p",
  },
  {
    why: "a budget of thinking becomes an effort",
    protocol: "messages",
    models: ["claude-opus-5-5", "claude-opus-4-8"],
    change: { thinking: { type: "enabled", budget_tokens: 2048 } },
    dropped: "thinking.budget_tokens",
  },
  {
    why: "adaptive thinking becomes a budget by its effort",
    protocol: "messages",
    models: ["claude-haiku-4-5"],
    change: { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
  },
  {
    why: "thinking is dropped in a step that began without it",
    protocol: "messages",
    models: ["claude-haiku-4-5", "claude-sonnet-4-6"],
    change: {
      tools: claudeTools,
      thinking: { type: "enabled", budget_tokens: 2048 },
      messages: [
        user,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "of another maker", signature: "" },
            { type: "tool_use", id: "t", name: "look", input: {} },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "ok" }] },
      ],
    },
    dropped: "thinking",
  },
  {
    why: "a turn that the provider has paused goes on",
    protocol: "messages",
    models: ["claude-opus-5-5", "claude-sonnet-4-6"],
    change: {
      messages: [
        user,
        {
          role: "assistant",
          content: [{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }],
        },
      ],
    },
  },
  {
    why: "an effort is lowered to the levels of the model",
    protocol: "messages",
    models: ["claude-sonnet-4-6"],
    change: { output_config: { effort: "xhigh" } },
  },
  {
    why: "thinking that is off lowers the effort",
    protocol: "messages",
    models: ["claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5"],
    change: { thinking: { type: "disabled" }, output_config: { effort: "max" } },
  },
  {
    why: "a late system entry moves to the front for a model that refuses it",
    protocol: "messages",
    models: ["claude-sonnet-5", "claude-haiku-4-5"],
    change: { messages: [user, { role: "system", content: "be short" }] },
  },
  {
    why: "betas that Amazon does not know stay here, with what they allow",
    protocol: "messages",
    models: CLAUDE_ON_BEDROCK,
    headers: {
      "anthropic-beta":
        "claude-code-20250219,prompt-caching-scope-2026-01-05,redact-thinking-2026-02-12",
    },
    change: {
      system: [marked("be short")],
      tools: [{ ...claudeTools[0], cache_control: scoped }],
      messages: [{ role: "user", content: [marked("hello")] }],
    },
    left: "cache_control.scope,prompt-caching-scope-2026-01-05,redact-thinking-2026-02-12",
  },
  {
    why: "a beta that Amazon knows by another name goes by that",
    protocol: "messages",
    models: [...CLAUDE_ON_BEDROCK, "claude-opus-5-5"],
    headers: { "anthropic-beta": "claude-code-20250219, advanced-tool-use-2025-11-20" },
    change: { tools: [{ ...claudeTools[0], defer_loading: true }] },
  },
  {
    why: "a cache mark for the whole request is dropped",
    protocol: "messages",
    models: CLAUDE_ON_BEDROCK,
    change: { cache_control: { type: "ephemeral" } },
    dropped: "cache_control",
  },
  {
    why: "structured output that Amazon does not know is asked for in words",
    protocol: "messages",
    models: WITHOUT_FORMATS,
    change: {
      tools: [{ ...claudeTools[0], strict: true }],
      output_config: { effort: "low", format: claudeFormat },
    },
    dropped: "output_config.format,tools.strict",
  },
  {
    why: "structured output under its older name is, too",
    protocol: "messages",
    models: WITHOUT_FORMATS,
    headers: { "anthropic-beta": "structured-outputs-2025-11-13" },
    change: { output_format: claudeFormat },
    dropped: "output_format",
  },
  {
    why: "structured output of Chat clients is, too",
    protocol: "chat",
    models: WITHOUT_FORMATS,
    change: { ...format, tools: [strictTool] },
    dropped: "response_format,tools.strict",
  },
  {
    why: "structured output of Responses clients is, too",
    protocol: "responses",
    models: WITHOUT_FORMATS,
    change: {
      text: { format: { ...format.response_format.json_schema, type: "json_schema" } },
      tools: [{ ...strictTool.function, type: "function" }],
    },
    dropped: "text.format,tools.strict",
  },
  {
    why: "structured output goes to a Claude that Amazon serves with it",
    protocol: "messages",
    models: ["svc/claude-haiku-4-5"],
    change: { output_config: { format: claudeFormat } },
  },
  {
    why: "the output limit has the name and size that the model takes",
    protocol: "chat",
    models: ["gpt-5.6-sol", "gpt-6.1-terra", "gemini-3.5-flash", "qwen3.7-max", "kimi-k3"],
    change: { max_tokens: 500_000 },
  },
  {
    why: "sampling and penalties that reasoning models refuse are dropped",
    protocol: "chat",
    models: [
      ...["gpt-5.6-sol", "gpt-5.4", "gpt-6.1-terra", "kimi-k3"],
      ...["gemini-3.8-flash", "gemini-3.5-flash-lite"],
    ],
    change: { temperature: 0, top_p: 0.5, presence_penalty: 1 },
    dropped: "temperature,top_p,presence_penalty",
  },
  {
    why: "only the values that Kimi takes are sent",
    protocol: "chat",
    models: ["kimi-k2.6", "kimi-k2.7-code", "svc/kimi-k2.5"],
    change: { temperature: 0.3, top_p: 1 },
    dropped: "temperature,top_p",
  },
  {
    why: "a temperature out of the range becomes the nearest",
    protocol: "chat",
    models: ["glm-5.2", "MiniMax-M3", "MiniMax-M2.7"],
    change: { temperature: 1.7 },
  },
  {
    why: "effort is dropped for a model without it",
    protocol: "chat",
    models: ["gpt-4.1", "svc/qwen3-coder-next", "svc/devstral-2-123b"],
    change: { reasoning_effort: "low" },
    dropped: "reasoning_effort",
  },
  {
    why: "no thinking becomes the lowest effort of a model that always thinks",
    protocol: "chat",
    models: ["grok-4.5", "gemini-3.1-pro-preview", "gemini-3.8-flash", "kimi-k3"],
    change: { reasoning_effort: "none" },
    dropped: "reasoning_effort",
  },
  {
    why: "an effort is lowered or raised to the levels of the model",
    protocol: "chat",
    models: ["gemini-3.5-flash", "grok-4.5", "gpt-5.5", "deepseek-v4-pro", "glm-5.2"],
    change: { reasoning_effort: "max" },
  },
  {
    why: "fields that Gemini does not know are dropped",
    protocol: "chat",
    models: ["gemini-3.5-flash", "gemini-3.1-flash-lite"],
    change: { metadata: { a: "b" }, user: "u", top_k: 3 },
    dropped: "metadata,user,top_k",
  },
  {
    why: "the role developer becomes system, and there is one system message",
    protocol: "chat",
    models: ["deepseek-v4-pro", "qwen3.7-max", "glm-4.7", "kimi-k2.6", "MiniMax-M3"],
    change: { messages: [system("one"), { role: "developer", content: "two" }, user] },
  },
  {
    why: "a late system message becomes the user's",
    protocol: "chat",
    models: ["MiniMax-M3", "svc/minimax-m2"],
    change: { messages: [system("one"), user, system("two")] },
  },
  {
    why: "a forced tool switches thinking off",
    protocol: "chat",
    models: ["deepseek-v4-pro", "kimi-k2.6", "qwen3.7-max"],
    change: forced,
  },
  {
    why: "a forced tool is asked for in words",
    protocol: "chat",
    models: ["glm-5.2", "svc/glm-4.7", "svc/kimi-k2-thinking", "kimi-k2.7-code"],
    change: forced,
    dropped: "tool_choice",
  },
  {
    why: "a Kimi that always thinks has no switch for it",
    protocol: "chat",
    models: ["svc/kimi-k2-thinking", "kimi-k2.7-code"],
    change: { thinking: { type: "disabled" } },
    dropped: "thinking",
  },
  {
    why: "a last turn of the assistant is followed by a user's if no provider of the model continues it",
    protocol: "messages",
    models: ["gemini-3.8-flash", "gemini-3.5-flash-lite"],
    change: { messages: [user, { role: "assistant", content: "a" }] },
  },
  {
    why: "a schema is given in words",
    protocol: "chat",
    models: ["deepseek-v4-flash"],
    change: format,
    dropped: "response_format",
  },
  {
    why: "a schema gets the types that Kimi wants",
    protocol: "chat",
    models: ["kimi-k2.6"],
    change: {
      tools: [
        {
          type: "function",
          function: {
            name: "look",
            parameters: {
              ...schema({
                any: {},
                either: { type: "string", anyOf: [{ enum: ["a"] }, { type: "null" }] },
                other: { $ref: "#/definitions/other" },
              }),
              definitions: { other: { properties: { deep: { description: "d" } } } },
            },
          },
        },
      ],
    },
    dropped: "tools.type",
  },
  {
    why: "a tool without parameters gets the empty schema that MiniMax wants",
    protocol: "chat",
    models: ["MiniMax-M3", "MiniMax-M2.7", "svc/minimax-m2"],
    change: { tools: [...chatTools, { type: "function", function: { name: "list" } }] },
  },
  {
    why: "a text in a data URL is a document, not an image",
    protocol: "chat",
    models: ["gpt-4.1", "deepseek-v4-pro", "claude-opus-5-5"],
    change: { messages: [shown("data:text/csv;base64,YSxi")] },
  },
  {
    why: "a PDF in a data URL is a document, not an image",
    protocol: "chat",
    models: ["gpt-4.1", "claude-opus-5-5"],
    change: { messages: [shown("data:application/pdf;base64,JVBERi0=")] },
  },
  {
    why: "reasoning in the history is taken from a server that refuses it",
    protocol: "chat",
    models: ["svc/mistral-large-3-675b"],
    change: {
      messages: [user, { role: "assistant", content: "a", reasoning_content: "b" }, user],
    },
  },
  {
    why: "sampling is dropped while Claude thinks",
    protocol: "responses",
    models: ["claude-sonnet-4-6"],
    change: { temperature: 0.2, reasoning: { effort: "low" } },
    dropped: "temperature",
  },
  {
    why: "sampling is dropped while a Claude thinks by a budget",
    protocol: "responses",
    models: ["claude-haiku-4-5"],
    change: { top_p: 0.5, reasoning: { effort: "low" } },
    dropped: "top_p",
  },
  {
    why: "sampling of a reasoning model is dropped",
    protocol: "responses",
    models: ["gpt-5.6-sol"],
    change: { temperature: 0, reasoning: { effort: "minimal" } },
    dropped: "temperature",
  },
  {
    why: "an effort that the model lacks is changed",
    protocol: "responses",
    models: ["grok-4.5"],
    change: { reasoning: { effort: "none" } },
  },
];

/** A demand that no route of the model can meet: the field that the refusal names. */
const DEMANDS: readonly (readonly [
  path: "messages" | "chat",
  model: string,
  change: object,
  field: string,
])[] = [
  [
    "messages",
    "claude-opus-5-5",
    { tools: claudeTools, tool_choice: { type: "any" } },
    "tool_choice",
  ],
  ["chat", "claude-sonnet-5-5", forced, "tool_choice"],
  [
    "messages",
    "claude-opus-5",
    { messages: [user, { role: "assistant", content: "a" }] },
    "messages",
  ],
  ["chat", "gpt-5.6-sol", { stop: ["a"], n: 2 }, "n"],
  ["chat", "gpt-6.1-terra", { logprobs: true }, "logprobs"],
  [
    "chat",
    "gemini-3.8-flash",
    { messages: [user, { role: "assistant", content: "a" }] },
    "messages",
  ],
];

const PLAIN = {
  messages: { max_tokens: 4096, messages: [user] },
  chat: { messages: [user] },
  responses: { input: "hello" },
};

t.test("models take what the gateway sends", async (t) => {
  const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });

  for (const { why, protocol, models, change, headers, dropped, left } of EDITS) {
    t.test(`${protocol}: ${why}`, async (t) => {
      const customer = await customerWith(gateway);
      for (const model of models) {
        const body = { model, ...PLAIN[protocol], ...change };
        const reply = await post(gateway, paths[protocol], customer, body, headers);
        t.equal(reply.status, 200, `${model}: ${reply.text}`);
        t.equal(reply.headers.get("x-svc-translate-dropped"), dropped ?? null, model);
        t.equal(reply.headers.get("x-svc-left-out"), left ?? null, model);
      }
    });
  }

  t.test("a demand that the model cannot meet is refused before it costs", async (t) => {
    const customer = await customerWith(gateway);
    const before = await gateway.simulator.stats();
    for (const [protocol, model, change, field] of DEMANDS) {
      const body = { model, ...PLAIN[protocol], ...change };
      const reply = await post(gateway, paths[protocol], customer, body);
      t.equal(reply.status, 400, `${model}: ${reply.text}`);
      t.match(reply.json.error.message, new RegExp(`^${field}: `));
    }
    t.strictSame(await gateway.simulator.stats(), before);
  });

  t.test("agents finish a task on each maker's models", async (t) => {
    const customer = await customerWith(gateway);
    const effort = { messages: { output_config: { effort: "high" } }, chat: {} } as const;
    const models = [
      ...["claude-opus-5-5", "claude-haiku-4-5", "gpt-5.6-sol", "gpt-5.5", "gpt-5.4", "gpt-4.1"],
      ...[
        "gpt-6.1-terra",
        "gemini-3.5-flash",
        "gemini-3.8-flash",
        "gemini-3.1-pro-preview",
        "kimi-k3",
      ],
      ...[
        "deepseek-v4-pro",
        "kimi-k2.7-code",
        "svc/kimi-k2-thinking",
        "glm-5.2",
        "glm-4.7",
        "grok-4.5",
      ],
      ...["qwen3.7-max", "qwen3.8-flash", "svc/qwen3-coder-next", "MiniMax-M3", "MiniMax-M2.7"],
      ...["svc/mistral-large-3-675b", "svc/claude-sonnet-5-5"],
    ];
    for (const protocol of ["messages", "chat"] as const) {
      for (const model of models) {
        const run = { protocol, models: [model], tasks: 2, dropsUnknown: true } as const;
        const { calls, error } = await runAgent(gateway, customer, {
          ...run,
          fields: effort[protocol],
        });
        t.equal(error, undefined, `${protocol} on ${model}`);
        t.strictSame(calls, [2, 1, 0, 2, 1, 0], `${protocol} on ${model}`);
      }
    }
  });
});
