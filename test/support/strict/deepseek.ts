import { capOf, forcesTool, foreignPart, hasRole, thinkingType, unpaired } from "./chat-turns.ts";
import { type Facts, objectIn, type Rule, text } from "./rule.ts";

const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

function deepseekThinks(facts: Facts): boolean {
  return thinkingType(facts) !== "disabled";
}

export const deepseek: readonly Rule[] = [
  {
    id: "d-role",
    source: "DeepSeek API reference: create-chat-completion",
    refuses: (facts) =>
      hasRole(facts, "developer") &&
      "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
  },
  {
    id: "d-text-only",
    source: "DeepSeek API reference: create-chat-completion",
    refuses: (facts) => {
      const type = foreignPart(facts, "text");
      return (
        type &&
        `Failed to deserialize the JSON body into the target type: messages[0]: unknown variant \`${type}\`, expected \`text\``
      );
    },
  },
  {
    id: "d-format",
    source: "DeepSeek docs: json_mode",
    refuses: ({ body }) =>
      objectIn(body, "response_format")?.["type"] === "json_schema" &&
      "This response_format type is unavailable now",
  },
  {
    id: "d-effort-values",
    source: "DeepSeek docs: thinking_mode; theopenco/llmgateway#3072",
    refuses: ({ body: { reasoning_effort: effort } }) =>
      effort != null &&
      !EFFORTS.includes(text(effort)) &&
      `Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant \`${text(effort)}\``,
  },
  {
    id: "d-forced-tool",
    source: "deepseek-ai/DeepSeek-V3#1376; cloudwego/eino#994",
    refuses: (facts) =>
      forcesTool(facts) &&
      deepseekThinks(facts) &&
      "Thinking mode does not support this tool_choice",
  },
  {
    id: "d-pairing",
    source: "BigPizzaV3/CodexPlusPlus#329",
    refuses: (facts) =>
      unpaired(facts) !== undefined &&
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
  },
  {
    id: "d-reasoning-replay",
    source:
      "DeepSeek docs: thinking_mode; danny-avila/LibreChat#13366; openclaw/openclaw#73417; diegosouzapw/OmniRoute#3632",
    refuses: (facts) =>
      deepseekThinks(facts) &&
      facts.turns.some(
        (turn) => turn["role"] === "assistant" && typeof turn["reasoning_content"] !== "string",
      ) &&
      "The `reasoning_content` in the thinking mode must be passed back to the API.",
  },
  {
    id: "d-context",
    source: "DeepSeek docs: errors; evalstate/fast-agent#621",
    refuses: (facts) => {
      const { inputTokens } = facts;
      const cap = capOf(facts);
      return (
        inputTokens + cap > 1_048_576 &&
        `This model's maximum context length is 1048576 tokens. However, you requested ${inputTokens + cap} tokens (${inputTokens} in the messages, ${cap} in the completion). Please reduce the length of the messages or completion.`
      );
    },
  },
];
