import { unpaired } from "./chat-turns.ts";
import { given, objectIn, type Rule, text } from "./rule.ts";
import { xaiSchemaRefusal } from "./schema.ts";

const NOT_SUPPORTED = (name: string) => `Argument not supported on this model: ${name}`;

export const xai: readonly Rule[] = [
  {
    id: "x-stop, x-penalties",
    source: "mnfst/modelparams.dev#330; xAI docs: reasoning",
    refuses: ({ body }) => {
      const name = given(body, "stop", "presence_penalty", "frequency_penalty");
      return name && NOT_SUPPORTED(name);
    },
  },
  {
    id: "x-schema-circle",
    source: "xAI docs: structured outputs",
    refuses: xaiSchemaRefusal,
  },
  {
    id: "x-effort-absent",
    models: /^grok-(4(-.*)?|4-1.*|4\.20.*)$/,
    source: "NousResearch/hermes-agent#23435; BerriAI/litellm#16265",
    refuses: ({ model, body }) =>
      given(body, "reasoning_effort") &&
      `Model ${model} does not support parameter reasoningEffort.`,
  },
  {
    id: "x-effort-values",
    source: "can1357/oh-my-pi#4888; enricoros/big-AGI#1104",
    refuses: ({ model, body }) => {
      const effort = body["reasoning_effort"] ?? objectIn(body, "reasoning")?.["effort"];
      if (effort == null) return undefined;
      const known = ["low", "medium", "high"];
      if (/^grok-4\.3/.test(model)) known.push("none");
      return (
        !known.includes(text(effort)) &&
        `Invalid reasoning effort '${text(effort)}' for this model.`
      );
    },
  },
];

export const xaiChat: readonly Rule[] = [
  {
    id: "x-pairing",
    source: "xAI docs: function calling",
    refuses: (facts) =>
      unpaired(facts) !== undefined && "Each tool call must be followed by its tool result.",
  },
  {
    id: "x-context",
    source: "xAI docs: models",
    refuses: ({ model, inputTokens }) => {
      const window = /^grok-4\.5/.test(model) ? 500_000 : 1_000_000;
      return (
        inputTokens > window &&
        `This model's maximum prompt length is ${window} but the request contains ${inputTokens} tokens.`
      );
    },
  },
];
