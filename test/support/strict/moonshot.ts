import { callsOf, capOf, forcesTool, schemasOf, thinkingType, unpaired } from "./chat-turns.ts";
import { schemaFault } from "./moonshot-schema.ts";
import { type Facts, objectIn, type Rule, text } from "./rule.ts";

const SIX = /^kimi-k2\.[56]/;
const SEVEN = /^kimi-k2\.7/;
const THREE = /^kimi-k3/;
const FIXED = /^kimi-k(2\.[567]|3)/;

export function kimiThinks(facts: Facts): boolean {
  if ([/thinking/, SEVEN, THREE].some((always) => always.test(facts.model))) return true;
  return SIX.test(facts.model) && thinkingType(facts) !== "disabled";
}

export const moonshot: readonly Rule[] = [
  {
    id: "k-temperature",
    models: FIXED,
    source: "Warma10032/VideoAdGuard#34; HenriGrimm/Minnow#291; NousResearch/hermes-agent#12566",
    refuses: (facts) => {
      const only = kimiThinks(facts) ? 1 : 0.6;
      const { temperature } = facts.body;
      return (
        temperature != null &&
        temperature !== only &&
        `invalid temperature: only ${only} is allowed for this model`
      );
    },
  },
  {
    id: "k-top-p",
    models: FIXED,
    source: "iOfficeAI/gemini-cli-pro#30",
    refuses: ({ body }) =>
      (body["top_p"] ?? 0.95) !== 0.95 && "invalid top_p: only 0.95 is allowed for this model",
  },
  {
    id: "k-always-thinks",
    models: SEVEN,
    source: "Moonshot docs: kimi-k2.7-code",
    refuses: (facts) =>
      thinkingType(facts) === "disabled" && "invalid thinking: only enabled is allowed",
  },
  {
    id: "k-forced-tool",
    source: "can1357/oh-my-pi#1077",
    refuses: (facts) =>
      forcesTool(facts) &&
      kimiThinks(facts) &&
      !THREE.test(facts.model) &&
      "tool_choice 'required' is incompatible with thinking enabled",
  },
  {
    id: "k-schema",
    source: "MoonshotAI/walle; earendil-works/pi#4138; CommandCodeAI/command-code#594",
    refuses: (facts) => {
      const [fault] = schemasOf(facts).flatMap((schema) => schemaFault(schema) ?? []);
      return (
        fault &&
        `tools.function.parameters is not a valid moonshot flavored json schema, details: ${fault}`
      );
    },
  },
  {
    id: "k-tool-name",
    source: "MoonshotAI/kimi-cli#1773; MoonshotAI/kimi-cli#2531",
    refuses: ({ tools }) =>
      tools.some((tool) => !/^[a-zA-Z][\w-]*$/.test(text(objectIn(tool, "function")?.["name"]))) &&
      "function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes",
  },
  {
    id: "k-parameters-object",
    source: "MoonshotAI/kimi-code#2662",
    refuses: ({ tools }) =>
      tools.some((tool) => {
        const parameters = objectIn(objectIn(tool, "function") ?? {}, "parameters");
        return parameters !== undefined && parameters["type"] !== "object";
      }) && 'tools.function.parameters.type is required and must be "object"',
  },
  {
    id: "k-not-empty",
    source: "Moonshot docs: chat",
    refuses: ({ turns }) =>
      turns.some((turn) => {
        const { role, content } = turn;
        return role === "assistant" && callsOf(turn).length === 0 && (content ?? "") === "";
      }) && "the message at position 1 with role 'assistant' must not be empty",
  },
  {
    id: "k-pairing",
    source: "Moonshot docs: tool use",
    refuses: (facts) => {
      const found = unpaired(facts);
      return found && `tool_call_id ${found.result ?? text(found.calls[0])} is not found`;
    },
  },
  {
    id: "k-reasoning-replay",
    source: "QuantumNous/new-api#3121; anomalyco/opencode#10996; MoonshotAI/kimi-agent-sdk#169",
    refuses: (facts) => {
      const at = facts.turns.findIndex(
        (turn) => callsOf(turn).length > 0 && text(turn["reasoning_content"]).trim() === "",
      );
      return (
        at >= 0 &&
        kimiThinks(facts) &&
        `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`
      );
    },
  },
  {
    id: "k-context",
    source: "Moonshot docs: errors; MoonshotAI/kimi-cli#2011",
    refuses: (facts) => {
      const requested = facts.inputTokens + capOf(facts);
      const window = THREE.test(facts.model) ? 1_048_576 : 262_144;
      return (
        requested > window &&
        `Invalid request: Your request exceeded model token limit: ${window} (requested: ${requested})`
      );
    },
  },
];
