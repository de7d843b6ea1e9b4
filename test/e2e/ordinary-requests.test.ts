import t from "tap";
import { customerWith } from "../support/billed.ts";
import { paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { makeState } from "../support/strict/state.ts";

/** Requests as clients send them by default, shortened: the fields and types are the clients' own. */
const schema = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
  additionalProperties: false,
};
const ephemeral = { cache_control: { type: "ephemeral" } };
const fn = (name: string) => ({ type: "function", name, strict: false, parameters: schema });
const chatFn = (name: string) => ({
  type: "function",
  function: { name, description: "d", parameters: schema },
});
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/** The state that the simulated providers gave in an earlier turn. */
const CLAUDE_STATE = makeState("anthropic", "signature", "an earlier turn");
const OPENAI_STATE = makeState("openai", "reasoning", "an earlier turn");

interface Row {
  readonly client: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The parts that the header names as left out. */
  readonly leftOut?: string;
}

const ROWS: readonly Row[] = [
  {
    client: "Claude Code",
    path: paths.messages,
    headers: {
      "anthropic-beta":
        "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05,effort-2025-11-24",
    },
    body: {
      model: "claude-opus-5",
      max_tokens: 32_000,
      stream: true,
      system: [
        { type: "text", text: "You are a coding agent.", ...ephemeral },
        { type: "text", text: "Rules.", cache_control: { type: "ephemeral", ttl: "1h" } },
      ],
      metadata: { user_id: "user_1" },
      thinking: { type: "adaptive" },
      output_config: { effort: "high" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      tools: [
        { name: "Read", description: "Reads a file", input_schema: schema },
        { name: "Later", description: "d", input_schema: schema, defer_loading: true },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "look", ...ephemeral }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: CLAUDE_STATE },
            { type: "tool_use", id: "toolu_1", name: "Read", input: { path: "a" } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [
                { type: "text", text: "b" },
                {
                  type: "image",
                  source: { type: "base64", media_type: "image/png", data: PNG },
                },
                { type: "tool_reference", tool_name: "Later" },
              ],
            },
          ],
        },
      ],
    },
  },
  {
    client: "Anthropic's SDK with tools that the client runs",
    path: paths.messages,
    headers: { "anthropic-beta": "computer-use-2025-11-24" },
    body: {
      model: "claude-opus-5-5",
      max_tokens: 1024,
      service_tier: "auto",
      tools: [
        { type: "custom", name: "own", input_schema: schema },
        { type: "bash_20250124", name: "bash" },
        { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
        { type: "memory_20250818", name: "memory" },
        { type: "computer_toolset_20260801" },
        // Newer than this build.
        { type: "clipboard_20990101", name: "clipboard" },
      ],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "read" },
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              citations: { enabled: true },
            },
            { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } },
            { type: "image", source: { type: "url", url: "https://images.example.com/a.png" } },
          ],
        },
      ],
    },
  },
  {
    client: "Codex",
    path: paths.responses,
    headers: { "openai-beta": "responses=experimental" },
    leftOut: "web_search",
    body: {
      model: "gpt-5.6-sol",
      instructions: "You are a coding agent.",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "k",
      reasoning: { effort: "high", summary: "auto" },
      text: { verbosity: "low" },
      tool_choice: "auto",
      parallel_tool_calls: true,
      service_tier: "default",
      tools: [
        fn("exec_command"),
        {
          type: "custom",
          name: "apply_patch",
          format: { type: "grammar", syntax: "lark", definition: "start: A" },
        },
        { type: "local_shell" },
        { type: "web_search", external_web_access: false },
        { type: "namespace", name: "mcp", description: "d", tools: [fn("inner")] },
        { type: "tool_search", execution: "client", description: "d", parameters: schema },
      ],
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "rules" }] },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "go" },
            { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
          ],
        },
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: OPENAI_STATE },
        { type: "function_call", id: "fc_1", call_id: "c1", name: "exec_command", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "done" },
        { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "p" },
        { type: "custom_tool_call_output", call_id: "c2", output: "ok" },
        {
          id: "msg_1",
          role: "assistant",
          content: [{ type: "output_text", text: "a", annotations: [] }],
        },
      ],
    },
  },
  {
    client: "OpenAI's SDK",
    path: paths.responses,
    body: {
      model: "gpt-5.6-sol",
      input: "hello",
      text: { format: { type: "text" } },
      metadata: { a: "b" },
    },
  },
  {
    client: "opencode",
    path: paths.chat,
    body: {
      model: "gpt-5.6-sol",
      max_tokens: 32_000,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      reasoning_effort: "medium",
      tools: [chatFn("read"), chatFn("edit")],
      tool_choice: "auto",
      messages: [
        { role: "system", content: "You are a coding agent." },
        {
          role: "user",
          content: [
            { type: "text", text: "go" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "b" },
      ],
    },
  },
  {
    client: "LangChain",
    path: paths.chat,
    body: {
      model: "grok-4.5",
      n: 1,
      temperature: 0.7,
      stream: false,
      store: false,
      modalities: ["text"],
      service_tier: "auto",
      prediction: null,
      web_search_options: null,
      tools: [
        { function: { name: "own", parameters: schema } },
        { type: "custom", custom: { name: "free" } },
      ],
      response_format: { type: "json_schema", json_schema: { name: "a", schema, strict: true } },
      messages: [
        {
          role: "user",
          content: [
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            },
          ],
        },
        {
          role: "user",
          content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }],
        },
      ],
      vendor_field: { kept: true },
    },
  },
];

t.test("ordinary requests pass", async (t) => {
  const gateway = await sharedGateway();

  for (const { client, path, body, headers, leftOut } of ROWS) {
    t.test(`of ${client}`, async (t) => {
      const customer = await customerWith(gateway);
      const answer = await post(gateway, path, customer, body, headers);
      t.equal(answer.status, 200, answer.text);
      t.equal(answer.headers.get("x-svc-left-out"), leftOut ?? null);
    });
  }
});
