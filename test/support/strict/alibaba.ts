import type { Directive } from "../provider/directive.ts";
import { capOf, forcesTool, foreignPart, hasRole, unpaired } from "./chat-turns.ts";
import { type Facts, objectIn, type Rule } from "./rule.ts";

export function qwenThinks({ model, body }: Facts): boolean {
  if (/coder|instruct/.test(model)) return false;
  return body["enable_thinking"] !== false;
}

/**
 * `max_tokens` may limit the answer alone, so the thinking before it goes on; `max_completion_tokens` limits both.
 * DashScope docs: api-compatibility-upgrade-notice.
 */
export function withFreeThinking(given: Directive, facts: Facts): Directive {
  const { family, body } = facts;
  if (family !== "alibaba" || !qwenThinks(facts)) return given;
  if (body["max_completion_tokens"] !== undefined) return given;
  return { ignore_max_tokens: "thinking", ...given };
}

function qwenCap(model: string): number {
  return /^qwen3-/.test(model) ? 131_072 : 65_536;
}

export const alibaba: readonly Rule[] = (
  [
    {
      id: "q-role",
      source: "DashScope docs: OpenAI compatibility",
      refuses: (facts) =>
        hasRole(facts, "developer") &&
        "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.0.role'",
    },
    {
      id: "q-forced-tool",
      source: "cloudwego/eino#994; QwenLM/qwen-code#7659",
      refuses: (facts) =>
        forcesTool(facts) &&
        qwenThinks(facts) &&
        "The tool_choice parameter does not support being set to required or object in thinking mode",
    },
    {
      id: "q-cap-range",
      source: "DashScope docs: error codes",
      refuses: (facts) =>
        capOf(facts) > qwenCap(facts.model) &&
        `Range of max_tokens should be [1, ${qwenCap(facts.model)}]`,
    },
    {
      id: "q-pairing",
      source: "DashScope docs: error codes",
      refuses: (facts) => {
        const found = unpaired(facts);
        if (!found) return undefined;
        return found.result === undefined
          ? 'An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id".'
          : 'messages with role "tool" must be a response to a preceeding message with "tool_calls".';
      },
    },
    {
      id: "q-file",
      source: "DashScope docs: error codes",
      refuses: (facts) =>
        foreignPart(facts, "text", "image_url", "input_audio", "video_url", "video") &&
        "Unexpected item type in content.",
    },
    {
      id: "q-json-word",
      source: "DashScope docs: structured output",
      refuses: ({ body, turns }) =>
        objectIn(body, "response_format")?.["type"] === "json_object" &&
        !/json/i.test(JSON.stringify(turns)) &&
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    },
    {
      id: "q-context",
      source: "DashScope docs: error codes",
      refuses: ({ inputTokens }) =>
        inputTokens > 997_952 && "Range of input length should be [1, 997952]",
    },
  ] satisfies readonly Rule[]
).map((rule) => ({ ...rule, code: "invalid_parameter_error" }));
