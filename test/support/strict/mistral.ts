import { type Rule, unknownField } from "./rule.ts";

const MESSAGE_FIELDS = new Set(["role", "content", "tool_calls", "tool_call_id", "name", "prefix"]);

export const mistral: readonly Rule[] = [
  {
    id: "s-extra-message-field",
    status: 422,
    source: "Mistral docs: errors; Gitlawb/openclaude#601",
    refuses: ({ turns }) => {
      const name = turns.map((turn) => unknownField(turn, MESSAGE_FIELDS)).find(Boolean);
      return name && `body.messages.1.${name}: Extra inputs are not permitted`;
    },
  },
  {
    id: "s-last-role",
    source: "Mistral docs: chat",
    refuses: ({ turns }) =>
      turns.at(-1)?.["role"] === "assistant" &&
      turns.at(-1)?.["prefix"] !== true &&
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
  },
  {
    id: "s-after-tool",
    source: "mistralai client issues; BerriAI/litellm Mistral notes",
    refuses: ({ turns }) =>
      turns.some((turn, at) => turn["role"] === "user" && turns[at - 1]?.["role"] === "tool") &&
      "Unexpected role 'user' after role 'tool'",
  },
];
