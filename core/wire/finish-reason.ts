/** The end of a reply. `context`: its window is full; `failure`: the provider could not go on. */
type Meaning = "end" | "length" | "context" | "filter" | "failure";

/** The finish reasons of providers, in small letters. One with a detail behind a colon has the meaning of the word before it. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  // OpenAI docs: Chat Completions reference.
  ...as("end", "stop", "tool_calls", "function_call"),
  ...as("length", "length"),
  ...as("filter", "content_filter"),
  // Z.ai docs: chat completion.
  ...as("context", "model_context_window_exceeded"),
  ...as("filter", "sensitive"),
  ...as("failure", "network_error"),
  // Gemini docs: FinishReason. With a detail: HKUDS/Vibe-Trading#308, NousResearch/hermes-agent#83886.
  ...as("length", "max_tokens"),
  ...as("filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "language"),
  ...as("filter", "image_safety", "image_prohibited_content", "image_recitation"),
  ...as("failure", "malformed_function_call", "unexpected_tool_call", "too_many_tool_calls"),
  ...as("failure", "function_call_filter", "missing_thought_signature", "malformed_response"),
  // DeepSeek docs: chat completion.
  ...as("failure", "insufficient_system_resource"),
  // Mistral docs: chat.
  ...as("length", "model_length"),
  ...as("failure", "error"),
  // vLLM and SGLang.
  ...as("length", "repetition_truncation"),
  ...as("failure", "abort"),
]);

function as(meaning: Meaning, ...reasons: readonly string[]): (readonly [string, Meaning])[] {
  return reasons.map((reason) => [reason, meaning] as const);
}

/** Returns what a finish reason of Chat means; undefined if it is not known. */
export function meaningOf(finishReason: unknown): Meaning | undefined {
  if (typeof finishReason !== "string") return undefined;
  const word = finishReason.toLowerCase();
  return MEANINGS.get(word) ?? MEANINGS.get(word.split(":", 1)[0] ?? "");
}

/** Returns true for the reason of an end. Servers send an empty one, or its name, while a reply goes on. */
export function isEnd(finishReason: unknown): boolean {
  return typeof finishReason === "string" && finishReason !== "" && finishReason !== "null";
}
