import { isObject, type JsonObject, objectOf, parseJson } from "../../../../core/plugin/index.ts";
import type { FinishReason } from "../../types.ts";
import type { ChatContext } from "../read/request.ts";

/**
 * Returns the finish reason for a Chat client. `called`: the reply has a call that the client must
 * run.
 */
export function finishReasonOf(stopReason: string, called: boolean): FinishReason {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "content_filter";
    default:
      return called ? "tool_calls" : "stop";
  }
}

/** Returns the name that clients of `functions` know. */
export function legacyReason(reason: FinishReason, { isLegacy }: ChatContext): FinishReason {
  return isLegacy && reason === "tool_calls" ? "function_call" : reason;
}

/** Returns the model's explanation of a refusal, null if there is none. */
export function explanationOf(stopReason: string, stopDetails: unknown): string | null {
  const explanation = objectOf(stopDetails)?.["explanation"];
  return stopReason === "refusal" && typeof explanation === "string" ? explanation : null;
}

/** Returns the text input of a custom tool's call; if there is none, the whole input as JSON. */
export function customInputOf(input: JsonObject): string {
  const text = input["input"];
  return typeof text === "string" ? text : JSON.stringify(input);
}

/** Like `customInputOf`, for arguments from a stream, which may be cut off. */
export function customInputOfText(args: string): string {
  const input = parseJson(args);
  return isObject(input) && typeof input["input"] === "string" ? input["input"] : args;
}
