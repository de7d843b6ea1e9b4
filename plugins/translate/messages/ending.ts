import { meaningOf } from "../../../core/plugin/index.ts";
import type { MessagesStop } from "../types.ts";

/** Bound for the refusal text, which is repeated in the last event. */
export const REFUSAL_CHARS_MAX = 16_384;

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
