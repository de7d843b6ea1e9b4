import { capOf } from "./chat-turns.ts";
import type { Family, Rule } from "./rule.ts";

/** The windows of the models that Amazon serves in Chat. */
const WINDOWS: Readonly<Partial<Record<Family, number>>> = {
  minimax: 196_608,
  zai: 202_752,
  alibaba: 262_144,
  moonshot: 262_144,
};

export const amazon: readonly Rule[] = [
  {
    id: "b-context",
    source: "gsd-build/gsd-2#5409",
    refuses: (facts) => {
      const window = facts.onBedrock ? WINDOWS[facts.family] : undefined;
      const { inputTokens } = facts;
      const cap = capOf(facts);
      return (
        window !== undefined &&
        inputTokens + cap > window &&
        `'max_tokens' or 'max_completion_tokens' is too large: ${cap}. This model's maximum context length is ${window} tokens and your request has ${inputTokens} input tokens`
      );
    },
  },
];
