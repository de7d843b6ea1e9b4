import { isObject } from "../../../core/process/json.ts";
import { callsOf, foreignPart, hasRole, unpaired } from "./chat-turns.ts";
import { objectIn, type Rule, text } from "./rule.ts";

function isJsonObject(json: unknown): boolean {
  try {
    return isObject(JSON.parse(text(json)));
  } catch {
    return false;
  }
}

export const minimax: readonly Rule[] = [
  {
    id: "m-role",
    source: "BigPizzaV3/CodexPlusPlus#267",
    refuses: (facts) => hasRole(facts, "developer") && "invalid message role: developer",
  },
  {
    id: "m-one-system",
    source: "MiniMax-AI/MiniMax-M2#51; netease-youdao/LobsterAI#123; codexu/note-gen#918",
    refuses: ({ turns }) =>
      turns.some((turn, at) => at > 0 && turn["role"] === "system") && "invalid chat setting",
  },
  {
    id: "m-pairing",
    source: "MiniMax-AI/MiniMax-M2#76; earendil-works/pi#5468",
    refuses: (facts) => {
      const found = unpaired(facts);
      if (!found) return undefined;
      return found.result === undefined
        ? "tool call result does not follow tool call"
        : `tool result's tool id(${found.result}) not found`;
    },
  },
  {
    id: "m-arguments-json",
    source: "earendil-works/pi#5468; HKUDS/nanobot#2373",
    refuses: ({ turns }) =>
      turns
        .flatMap(callsOf)
        .some((call) => !isJsonObject(objectIn(call, "function")?.["arguments"])) &&
      "invalid function arguments json string",
  },
  {
    id: "m-parameters",
    source: "QwenLM/qwen-code#11905",
    refuses: ({ tools }) =>
      tools.some((tool) => !objectIn(objectIn(tool, "function") ?? {}, "parameters")) &&
      "function parameters is empty",
  },
  {
    id: "m-temperature",
    source: "MiniMax docs: text-openai-api",
    refuses: ({ body: { temperature } }) =>
      typeof temperature === "number" &&
      (temperature <= 0 || temperature > 1) &&
      "temperature must be in (0.0, 1.0]",
  },
  {
    id: "m-text-only",
    models: /^minimax-m2/i,
    source: "MiniMax docs: text-openai-api",
    refuses: (facts) => foreignPart(facts, "text") && "image input is not supported by this model",
  },
  {
    id: "m-context",
    source: "MiniMax docs: error codes",
    refuses: ({ model, inputTokens }) =>
      inputTokens > (/m3/i.test(model) ? 1_000_000 : 204_800) && "context window exceeds limit",
  },
];
