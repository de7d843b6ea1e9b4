import { capOf, forcesTool, foreignPart, hasRole, unpaired } from "./chat-turns.ts";
import type { Rule } from "./rule.ts";

const ILLEGAL = "The messages parameter is illegal. Please check the documentation.";

export const zai: readonly Rule[] = [
  {
    id: "z-user-needed",
    code: "1214",
    source: "anomalyco/opencode#2557; continuedev/continue#13259",
    refuses: (facts) => !hasRole(facts, "user") && ILLEGAL,
  },
  {
    id: "z-role",
    code: "1214",
    source: "Z.ai docs: chat-completion",
    refuses: (facts) => hasRole(facts, "developer") && "Incorrect role information",
  },
  {
    id: "z-text-only",
    code: "1210",
    source: "Z.ai docs: chat-completion",
    refuses: (facts) =>
      foreignPart(facts, "text") && "messages.content.type is invalid, allowed values: ['text']",
  },
  {
    id: "z-sampling-range",
    code: "1210",
    source: "cline/cline#9939; Z.ai docs: concept-param",
    refuses: ({ body: { temperature, top_p } }) => {
      const wrong =
        (typeof temperature === "number" && (temperature < 0 || temperature > 1)) ||
        (typeof top_p === "number" && (top_p < 0.01 || top_p > 1));
      return wrong && "Invalid API parameter, please check the documentation.";
    },
  },
  {
    id: "z-stop-1",
    code: "1210",
    source: 'Z.ai docs: chat-completion ("supports a single stop")',
    refuses: ({ body: { stop } }) =>
      Array.isArray(stop) && stop.length > 1 && "stop: at most one stop word is supported",
  },
  {
    id: "z-tool-choice",
    code: "1210",
    source: 'Z.ai docs: chat-completion ("only supports auto")',
    refuses: (facts) =>
      (forcesTool(facts) || facts.body["tool_choice"] === "none") &&
      "tool_choice only supports auto",
  },
  {
    id: "z-cap-range",
    code: "1214",
    source: "lobehub/lobehub#1398; can1357/oh-my-pi#2833",
    refuses: (facts) => capOf(facts) > 131_072 && "max_tokens: value out of range [1, 131072]",
  },
  {
    id: "z-pairing",
    code: "1214",
    source: "MetaGLM/zhipuai-sdk-python-v4#14; Z.ai docs: errors",
    refuses: (facts) => unpaired(facts) !== undefined && ILLEGAL,
  },
  {
    id: "z-context",
    code: "1261",
    source: "Z.ai docs: errors",
    refuses: ({ model, inputTokens }) =>
      inputTokens > (/5\.2/.test(model) ? 1_000_000 : 200_000) && "Prompt exceeds max length",
  },
];
