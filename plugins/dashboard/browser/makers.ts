/** Who makes the models whose names match. The prefix of a channel, such as `svc/`, does not count. */
const MAKERS = [
  ["Anthropic", /^claude/],
  ["OpenAI", /^(?:gpt|o\d)/],
  ["Google", /^gemini/],
  ["xAI", /^grok/],
  ["DeepSeek", /^deepseek/],
  ["Qwen", /^qwen/],
  ["Moonshot AI", /^kimi/],
  ["Z.ai", /^glm/],
  ["MiniMax", /^minimax/],
  ["Mistral AI", /^(?:mistral|devstral|codestral|ministral)/],
] as const;

/** Returns the models by their makers, in the order of the list; those of an unknown maker come last, under `""`. */
export function byMaker<Model extends { readonly id: string }>(
  models: readonly Model[],
): (readonly [maker: string, models: readonly Model[]])[] {
  const names = [...MAKERS.map(([name]) => name), ""];
  return names
    .map((name) => [name, models.filter(({ id }) => makerOf(id) === name)] as const)
    .filter(([, found]) => found.length > 0);
}

/** Returns the name of a model without its channel: `claude-opus-5-5` of `svc/claude-opus-5-5`. */
export function plainName(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

function makerOf(id: string): string {
  const name = plainName(id).toLowerCase();
  return MAKERS.find(([, sign]) => sign.test(name))?.[0] ?? "";
}
