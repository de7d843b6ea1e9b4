import { isObject, type JsonObject, objectOf, parseJson } from "../../../core/contract/index.ts";
import type { ChatContext } from "../chat-to-messages/request.ts";
import { STRUCTURED_OUTPUT } from "../chat-to-messages/tools.ts";
import type { FinishReason } from "../types.ts";

/** Whether a call is the answer itself, because a tool stands for the wanted format. */
export function isFormatCall(name: unknown, context: ChatContext): boolean {
  return context.formatIsTool && name === STRUCTURED_OUTPUT;
}

/** The reason a Chat client is told. `called`: the answer holds a call that the client is to run. */
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

/** What the model says of its refusal, if it refused and says anything. */
export function explanationOf(stopReason: string, stopDetails: unknown): string | null {
  const explanation = objectOf(stopDetails)?.["explanation"];
  return stopReason === "refusal" && typeof explanation === "string" ? explanation : null;
}

/** The free text of a custom tool's call; where it cannot be found, all there is. */
export function customInputOf(input: JsonObject): string {
  const text = input["input"];
  return typeof text === "string" ? text : JSON.stringify(input);
}

/** The same out of arguments that came as a stream and may be cut. */
export function customInputOfText(args: string): string {
  const input = parseJson(args);
  return isObject(input) && typeof input["input"] === "string" ? input["input"] : args;
}
