import type { MessagesStop } from "../types.ts";

/** Bound for the refusal text, which is repeated in the last event. */
export const REFUSAL_CHARS_MAX = 16_384;

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

function meaningOf(finishReason: string): Meaning | undefined {
  const word = finishReason.toLowerCase();
  return MEANINGS.get(word) ?? MEANINGS.get(word.split(":", 1)[0] ?? "");
}

/** Returns true if the finish reason means that the upstream failed. */
export function isFailure(finishReason: string): boolean {
  return meaningOf(finishReason) === "failure";
}

/** The facts about a reply that determine its stop reason. */
interface Ending {
  /** The provider's own finish reason; empty if it gives none. */
  readonly finishReason: string;
  readonly called: boolean;
  /** True if the arguments of a call are cut off. */
  readonly isCallCut: boolean;
  readonly refusal: string;
  /** True if a translation goes on, which shows refusals in their own form. */
  readonly marksRefusals: boolean;
  /** The stop sequence that the server reports. */
  readonly matched: string;
}

/** Returns how a reply of Messages ends. */
export function stopOf(ending: Ending): MessagesStop {
  const stop = reasonOf(ending);
  if (stop.stop_reason === "refusal" && ending.refusal !== "") {
    stop.stop_details = { type: "refusal", category: null, explanation: ending.refusal };
  }
  return stop;
}

function reasonOf(ending: Ending): MessagesStop {
  const { finishReason, called, isCallCut, refusal, marksRefusals, matched } = ending;
  const meaning = meaningOf(finishReason);
  switch (meaning) {
    case "length":
      return { stop_reason: "max_tokens", stop_sequence: null };
    case "context":
      return { stop_reason: "model_context_window_exceeded", stop_sequence: null };
    case "filter":
      return { stop_reason: "refusal", stop_sequence: null };
  }
  // No client can run a call whose arguments end in the middle, unless a known reason says that they are whole.
  if (isCallCut && meaning !== "end") return { stop_reason: "max_tokens", stop_sequence: null };
  // The client must run a call, whatever finish reason the server gives.
  if (called) return { stop_reason: "tool_use", stop_sequence: null };
  if (refusal !== "" && !marksRefusals) return { stop_reason: "refusal", stop_sequence: null };
  if (matched !== "") return { stop_reason: "stop_sequence", stop_sequence: matched };
  return { stop_reason: "end_turn", stop_sequence: null };
}

/**
 * Returns true for a reply with a finish reason of no known meaning, and nothing else: the provider has filtered or lost it.
 */
export function isLost(finishReason: string, hasContent: boolean): boolean {
  return finishReason !== "" && !hasContent && meaningOf(finishReason) === undefined;
}
