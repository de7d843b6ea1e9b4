import type { MessagesStop } from "../types.ts";

/** Bound for the refusal text, which is repeated in the last event. */
export const REFUSAL_CHARS_MAX = 16_384;

/** The facts about a reply that determine its stop reason. */
interface Ending {
  /** The finish reason as Chat names it. */
  readonly finishReason: string;
  readonly called: boolean;
  readonly refusal: string;
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

function reasonOf({ finishReason, called, refusal, matched }: Ending): MessagesStop {
  switch (finishReason) {
    case "length":
    case "model_length":
    case "max_tokens":
      return { stop_reason: "max_tokens", stop_sequence: null };
    case "content_filter":
      return { stop_reason: "refusal", stop_sequence: null };
  }
  // The client must run a call, whatever finish reason the server gives.
  if (called) return { stop_reason: "tool_use", stop_sequence: null };
  if (refusal !== "") return { stop_reason: "refusal", stop_sequence: null };
  if (matched !== "") return { stop_reason: "stop_sequence", stop_sequence: matched };
  return { stop_reason: "end_turn", stop_sequence: null };
}
