import { type Facts, given, objectIn, type Rule, text } from "./rule.ts";

const GENERATION_5 = /^claude-(opus-4-[78]|(fable|opus|sonnet|haiku)-5)/;
const ALWAYS_THINKS = /^claude-(fable-5|opus-5-5|sonnet-5-5)/;

/** Returns true if the model thinks for this request. */
export function claudeThinks({ model, body }: Facts): boolean {
  const type = text(objectIn(body, "thinking")?.["type"]);
  if (type === "disabled") return false;
  return type !== "" || /^claude-(fable|opus|sonnet|haiku)-5/.test(model);
}

export const claudeSampling: readonly Rule[] = [
  {
    id: "a-sampling-removed",
    models: GENERATION_5,
    source: "Claude docs: whats-new-claude-4-7; pollinations/pollinations#11319",
    refuses: ({ body }) => {
      const name = given(body, "temperature", "top_p", "top_k");
      return name && body[name] !== 1 && `\`${name}\` is deprecated for this model.`;
    },
  },
  {
    id: "a-sampling-both",
    models: /^claude-(opus-4-[156]|sonnet-4-[56]|haiku-4-5)/,
    source: "SalesforceAIResearch/MCP-Universe#49; aws-samples/bedrock-chat#979",
    refuses: ({ body }) =>
      given(body, "temperature") !== undefined &&
      given(body, "top_p") !== undefined &&
      "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
  },
  {
    id: "a-sampling-thinking",
    models: /^claude-(opus-4-[156]|sonnet-4-[56]|haiku-4-5)/,
    source: "dotCipher/opencode-claude-bridge#1; mnfst/modelparams.dev#214",
    refuses: (facts) => {
      const { temperature, top_p } = facts.body;
      if (!claudeThinks(facts)) return false;
      if (typeof temperature === "number" && temperature !== 1)
        return "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.";
      return (
        typeof top_p === "number" &&
        top_p < 0.95 &&
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode."
      );
    },
  },
  {
    id: "a-temperature-range",
    source: "Claude docs: Messages API reference",
    refuses: ({ body: { temperature } }) =>
      typeof temperature === "number" &&
      (temperature < 0 || temperature > 1) &&
      "temperature: range: -inf..1",
  },
  {
    id: "a-stop-blank",
    source: "BerriAI/litellm#3286",
    refuses: ({ body }) =>
      Array.isArray(body["stop_sequences"]) &&
      body["stop_sequences"].some((stop) => text(stop).trim() === "") &&
      "stop_sequences: each stop sequence must contain non-whitespace",
  },
];

export const claudeThinking: readonly Rule[] = [
  {
    id: "a-thinking-budget-removed",
    models: GENERATION_5,
    source: "Claude docs: whats-new-opus-5-5; Kilo-Org/kilocode#11194",
    refuses: ({ body }) =>
      objectIn(body, "thinking")?.["type"] === "enabled" &&
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
  },
  {
    id: "a-thinking-disabled-removed",
    models: ALWAYS_THINKS,
    source: "Claude docs: whats-new-opus-5-5; ex-machina-co/opencode-anthropic-auth#159",
    refuses: ({ body }) =>
      objectIn(body, "thinking")?.["type"] === "disabled" &&
      '"thinking.type.disabled" is not supported for this model.',
  },
  {
    id: "a-thinking-adaptive-missing",
    models: /^claude-(haiku|sonnet|opus)-4-5/,
    source: "Claude docs: adaptive thinking",
    refuses: ({ body }) =>
      objectIn(body, "thinking")?.["type"] === "adaptive" &&
      "adaptive thinking is not supported on this model",
  },
  {
    id: "a-between-tools-only-sonnet-5-5",
    models: /^claude-(?!sonnet-5-5)/,
    source: "Claude docs: whats-new-sonnet-5-5",
    refuses: ({ body }) =>
      objectIn(body, "thinking")?.["type"] === "between_tools" &&
      "thinking: Input tag 'between_tools' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
  },
  {
    id: "a-effort-without-thinking",
    models: /^claude-(opus-4-8|opus-5|sonnet-5|haiku-5-5)/,
    source: "anthropics/claude-code#76689; Claude docs: opus-5 migration guide",
    refuses: ({ body }) => {
      const type = text(objectIn(body, "thinking")?.["type"]);
      const effort = text(objectIn(body, "output_config")?.["effort"]);
      return (
        (type === "disabled" || type === "between_tools") &&
        (effort === "xhigh" || effort === "max") &&
        `output_config.effort '${effort}' is not supported when thinking is disabled`
      );
    },
  },
  {
    id: "a-effort-values",
    models: /-4-[56]/,
    source: "Claude docs: effort",
    refuses: ({ model, body }) => {
      const effort = objectIn(body, "output_config")?.["effort"];
      if (effort === undefined) return undefined;
      if (/-4-5/.test(model) && !/opus/.test(model)) {
        return "This model does not support the effort parameter.";
      }
      return effort === "xhigh" && "output_config.effort: 'xhigh' is not supported by this model";
    },
  },
  {
    id: "a-budget-min",
    source: "Claude docs: extended thinking",
    refuses: ({ body }) =>
      Number(objectIn(body, "thinking")?.["budget_tokens"] ?? 1024) < 1024 &&
      "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
  },
  {
    id: "a-budget-below-cap",
    source: "Claude docs: extended thinking",
    refuses: ({ body }) =>
      Number(objectIn(body, "thinking")?.["budget_tokens"] ?? -1) >= Number(body["max_tokens"]) &&
      "`max_tokens` must be greater than `thinking.budget_tokens`",
  },
];
