import type { Facts, Family } from "./rule.ts";

const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^claude-/, "anthropic"],
  [/^(gpt-|o[0-9])/, "openai"],
  [/^gemini-/, "google"],
  [/^grok-/, "xai"],
  [/^deepseek-/, "deepseek"],
  [/^kimi-/, "moonshot"],
  [/^glm-/, "zai"],
  [/^qwen/, "alibaba"],
  [/^minimax-/i, "minimax"],
  [/^(mistral|devstral|magistral)-/, "mistral"],
];

/** Amazon's prefixes: `anthropic.claude-opus-5`, `us.anthropic.claude-opus-5`. */
const PREFIX = /^([a-z]+\.)?(anthropic|openai|xai|deepseek|moonshotai|zai|qwen|minimax|mistral)\./;

/** Returns the family of a model and its name there. Undefined for a name that no provider has. */
export function familyOf(name: string): Pick<Facts, "family" | "model" | "onBedrock"> | undefined {
  const model = name.replace(PREFIX, "");
  const found = FAMILIES.find(([pattern]) => pattern.test(model));
  return found && { family: found[1], model, onBedrock: model !== name };
}
