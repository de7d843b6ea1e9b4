import type { JsonObject } from "../../../core/process/json.ts";

/** A field of a request, with a value that differs from its default. */
export interface Sample {
  readonly client: "messages" | "chat" | "responses";
  /** Its name, or its path. */
  readonly field: string;
  readonly body: JsonObject;
  /** Fields that it needs beside it. */
  readonly beside?: JsonObject;
  /** Why it may be left out without a word. */
  readonly harmless?: string;
}

const ALWAYS = "the gateway always does that";
const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
const closed = { ...schema, additionalProperties: false };
const user = (content: unknown) => [{ role: "user", content }];
const PDF = "JVBERi0xLjQK";
const PNG = "iVBORw0KGgo=";

function of(client: Sample["client"], field: string, body: JsonObject, more: Partial<Sample> = {}) {
  return { client, field, body, ...more };
}

const tool = { name: "f", input_schema: schema };
const tools = { tools: [tool] };
const m = (field: string, body: JsonObject, more?: Partial<Sample>) =>
  of("messages", field, body, more);

const called = { type: "function", function: { name: "f", parameters: schema } };
const chatTools = { tools: [called] };
const c = (field: string, body: JsonObject, more?: Partial<Sample>) =>
  of("chat", field, body, more);

const flat = { type: "function", name: "f", parameters: schema };
const flatTools = { tools: [flat] };
const r = (field: string, body: JsonObject, more?: Partial<Sample>) =>
  of("responses", field, body, more);
const input = (...items: unknown[]) => ({ input: [{ role: "user", content: "q" }, ...items] });

export const FIELDS: readonly Sample[] = [
  m("model", { model: "n" }),
  m("messages", { messages: user("other") }),
  m("max_tokens", { max_tokens: 500 }),
  m("system", { system: "be brief" }),
  m("stream", { stream: true }),
  m("temperature", { temperature: 0.5 }),
  m("stop_sequences", { stop_sequences: ["END"] }),
  m("tools", tools),
  m("tool_choice", { tool_choice: { type: "any" } }, { beside: tools }),
  m(
    "thinking",
    { thinking: { type: "enabled", budget_tokens: 2048 }, max_tokens: 9999 },
    { beside: { max_tokens: 9999 } },
  ),
  m("output_config", {
    output_config: { effort: "low", format: { type: "json_schema", schema: closed } },
  }),
  m("output_format", { output_format: { type: "json_schema", schema: closed } }),
  m("metadata", { metadata: { user_id: "u" } }),
  m("service_tier", { service_tier: "standard_only" }),
  m("cache_control", { cache_control: { type: "ephemeral" } }),
  m("container", { container: "c" }),
  m("context_management", {
    context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
  }),
  m("compaction", { compaction: { type: "summarize" } }),
  m("diagnostics", { diagnostics: { previous_message_id: null } }),
  m("inference_geo", { inference_geo: "eu" }),
  m("mcp_servers", { mcp_servers: [{ type: "url", name: "s", url: "https://e.com" }] }),
  m("speed", { speed: "fast" }),
  m("fallbacks", { fallbacks: [{ model: "n" }] }),
  m("fallback_credit_token", { fallback_credit_token: "t" }),
  m("billing_policy", { billing_policy: { type: "x" } }),
  m("thread", { thread: { type: "create" } }),
  m("user_profile_id", { user_profile_id: "p" }),
  m("workspace_id", { workspace_id: "w" }),
  m("betas", { betas: ["a"] }),
  m("messages.content.compaction", {
    messages: [
      { role: "assistant", content: [{ type: "compaction", content: "c" }] },
      ...user("q"),
    ],
  }),
  m("messages.content.search_result", {
    messages: user([
      { type: "search_result", title: "t", source: "s", content: [{ type: "text", text: "c" }] },
    ]),
  }),

  c("model", { model: "n" }),
  c("messages", { messages: user("other") }),
  c("max_tokens", { max_tokens: 500 }),
  c("max_completion_tokens", { max_completion_tokens: 500 }),
  c("temperature", { temperature: 0.5 }),
  c("top_p", { top_p: 0.5 }),
  c("frequency_penalty", { frequency_penalty: 1 }),
  c("presence_penalty", { presence_penalty: 1 }),
  c("logit_bias", { logit_bias: { "1": 1 } }),
  c("logprobs", { logprobs: true }),
  c("top_logprobs", { top_logprobs: 2 }),
  c("seed", { seed: 7 }),
  c("n", { n: 2 }),
  c("stop", { stop: ["END"] }),
  c("stream", { stream: true }),
  c(
    "stream_options",
    { stream_options: { include_usage: true } },
    { beside: { stream: true }, harmless: "read for the reply" },
  ),
  c("tools", chatTools),
  c("tool_choice", { tool_choice: "required" }, { beside: chatTools }),
  c("parallel_tool_calls", { parallel_tool_calls: false }, { beside: chatTools }),
  c("functions", { functions: [{ name: "f", parameters: schema }] }),
  c(
    "function_call",
    { function_call: { name: "f" } },
    { beside: { functions: [{ name: "f", parameters: schema }] } },
  ),
  c("reasoning_effort", { reasoning_effort: "low" }),
  c("response_format", {
    response_format: { type: "json_schema", json_schema: { name: "r", schema: closed } },
  }),
  c("verbosity", { verbosity: "low" }),
  c("metadata", { metadata: { a: "b" } }),
  c("moderation", { moderation: { model: "omni-moderation-latest" } }),
  c("prediction", { prediction: { type: "content", content: "p" } }),
  c("prompt_cache_key", { prompt_cache_key: "k" }),
  c("prompt_cache_options", { prompt_cache_options: { mode: "explicit" } }),
  c("prompt_cache_retention", { prompt_cache_retention: "24h" }),
  c("safety_identifier", { safety_identifier: "s" }),
  c("user", { user: "u" }),
  c("service_tier", { service_tier: "flex" }),
  c("store", { store: true }, { harmless: "replies are not kept" }),
  c("audio", { audio: { voice: "v", format: "mp3" } }),
  c("modalities", { modalities: ["text", "audio"] }),
  c("web_search_options", { web_search_options: {} }),
  c("messages.content.input_audio", {
    messages: user([{ type: "input_audio", input_audio: { data: "AA==", format: "wav" } }]),
  }),
  c("messages.content.file", {
    messages: user([{ type: "file", file: { filename: "a.pdf", file_data: PDF } }]),
  }),

  r("model", { model: "n" }),
  r("input", { input: "other" }),
  r("instructions", { instructions: "be brief" }),
  r("max_output_tokens", { max_output_tokens: 500 }),
  r("temperature", { temperature: 0.5 }),
  r("top_p", { top_p: 0.5 }),
  r("stream", { stream: true }),
  r(
    "stream_options",
    { stream_options: { include_obfuscation: false } },
    { beside: { stream: true }, harmless: ALWAYS },
  ),
  r("tools", flatTools),
  r("tools.web_search", { tools: [flat, { type: "web_search" }] }, { beside: flatTools }),
  r("tool_choice", { tool_choice: "required" }, { beside: flatTools }),
  r("parallel_tool_calls", { parallel_tool_calls: false }, { beside: flatTools }),
  r("access_programs", { access_programs: { cyber: "standard" } }),
  r("image", { image: { detail: "low" } }),
  r("max_tool_calls", { max_tool_calls: 2 }),
  r("reasoning", { reasoning: { effort: "low" } }),
  r("text", { text: { format: { type: "json_schema", name: "r", schema: closed } } }),
  r("metadata", { metadata: { a: "b" } }),
  r("moderation", { moderation: { model: "omni-moderation-latest" } }),
  r("prompt_cache_key", { prompt_cache_key: "k" }),
  r("prompt_cache_options", { prompt_cache_options: { mode: "explicit" } }),
  r("prompt_cache_retention", { prompt_cache_retention: "24h" }),
  r("safety_identifier", { safety_identifier: "s" }),
  r("user", { user: "u" }),
  r("service_tier", { service_tier: "flex" }),
  r("store", { store: true }, { harmless: "replies are not kept" }),
  r("include", { include: ["reasoning.encrypted_content"] }, { harmless: ALWAYS }),
  r("background", { background: true }),
  r("background_options", { background_options: { completion_window: "2h" } }),
  r("context_management", {
    context_management: [{ type: "compaction", compact_threshold: 1000 }],
  }),
  r("conversation", { conversation: "c" }),
  r("previous_response_id", { previous_response_id: "p" }),
  r("prompt", { prompt: { id: "p" } }),
  r("top_logprobs", { top_logprobs: 2 }),
  r("truncation", { truncation: "auto" }),
  r(
    "input.developer.input_image",
    input({
      role: "developer",
      content: [{ type: "input_image", image_url: `data:image/png;base64,${PNG}` }],
    }),
  ),
  r("input.reasoning", input({ type: "reasoning", id: "rs_1", summary: [] }), {
    harmless: "no model but its maker's can read it",
  }),
  r("input.agent_message", input({ type: "agent_message", author: "a", content: "x" })),
  r(
    "input.configuration_update",
    input({ type: "configuration_update", reasoning: { effort: "low" } }),
  ),
  r("input.item_reference", input({ type: "item_reference", id: "rs_1" })),
  r("input.compaction", input({ type: "compaction", encrypted_content: "c" })),
  r("input.compaction_trigger", input({ type: "compaction_trigger" })),
];
