import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { claudeOnBedrock } from "./anthropic-bedrock.ts";
import { claudeBetas } from "./anthropic-betas.ts";
import { anthropicMedia } from "./anthropic-media.ts";
import { claudeSampling, claudeThinking } from "./anthropic-thinking.ts";
import { anthropicTurns } from "./anthropic-turns.ts";
import { blocksOf, isThinkingBlock, prefixOf } from "./message-turns.ts";
import { type Facts, given, objectIn, objects, type Rule, text, unknownField } from "./rule.ts";
import { claudeSchemaRefusal } from "./schema.ts";
import { checkState } from "./state.ts";

const FIELDS = new Set([
  ...["model", "messages", "max_tokens", "metadata", "service_tier", "stop_sequences", "stream"],
  ...["system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p", "container"],
  ...["context_management", "mcp_servers", "output_config", "output_format", "cache_control"],
  ...["inference_geo", "speed", "diagnostics", "compaction", "user_profile_id", "workspace_id"],
]);

const NEVER_FORCED = /^claude-(fable-5-[12]|opus-5-5|sonnet-5-5)/;
const BOUND = /^claude-(fable-5-[12]|opus-5-5|sonnet-5-5|haiku-5-5)/;
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** Returns true if thinking blocks that do not fit are dropped instead of refused. */
function dropsUnbound({ body, headers }: Facts): boolean {
  const binding = objectIn(objectIn(body, "thinking") ?? {}, "block_binding");
  const asked = binding?.["prefix_mismatch_behavior"] === "drop_block";
  return asked && text(headers["anthropic-beta"]).includes(BINDING_BETA);
}

function claudeCap(model: string): number {
  if (/-4-[56]/.test(model)) return 64_000;
  return 128_000;
}

/** Returns the reason why a thinking block is refused. */
function wrongThinking(block: JsonObject): string | undefined {
  if (block["type"] === "redacted_thinking") {
    return checkState("anthropic", "redacted", block["data"]) === "own"
      ? undefined
      : "Invalid `data` in `redacted_thinking` block";
  }
  if (block["signature"] === undefined) return "thinking.signature: Field required";
  return checkState("anthropic", "signature", block["signature"]) === "own"
    ? undefined
    : "Invalid `signature` in `thinking` block";
}

/** The client runs a set of tools under names of the provider. */
function isToolset(type: unknown): boolean {
  return /_toolset_\d{8}$/.test(text(type));
}

const tools: readonly Rule[] = [
  {
    id: "a-computer-tool-old",
    models: /^claude-[a-z]+-5-5/,
    source: "Claude docs: computer use; cua-lite/cua-lite#27",
    refuses: (facts) => {
      const old = facts.tools
        .map(({ type }) => text(type))
        .find((type) => /^computer_\d/.test(type));
      return old && `tools.0: '${old}' does not match any of the expected tags`;
    },
  },
  {
    id: "a-forced-tool-newest",
    models: NEVER_FORCED,
    source:
      "anthropics/claude-cookbooks#854; Claude docs: whats-new-fable-5-1; langchain-ai/langchain-aws#1274",
    refuses: ({ body }) =>
      ["any", "tool"].includes(text(objectIn(body, "tool_choice")?.["type"])) &&
      'tool_choice: type "tool" and "any" are not supported for this model',
  },
  {
    id: "a-forced-tool-thinking",
    source: "mastra-ai/mastra#7507; langchain-ai/langchain-aws#1151",
    refuses: ({ model, body }) =>
      ["any", "tool"].includes(text(objectIn(body, "tool_choice")?.["type"])) &&
      (/-4-[67]/.test(model) ? ["enabled", "adaptive"] : ["enabled"]).includes(
        text(objectIn(body, "thinking")?.["type"]),
      ) &&
      "Thinking may not be enabled when tool_choice forces tool use.",
  },
  {
    id: "a-tool-name",
    source: "Claude docs: define tools",
    refuses: (facts) =>
      facts.tools.some(
        ({ name, type }) => !isToolset(type) && !/^[a-zA-Z0-9_-]{1,128}$/.test(text(name)),
      ) && "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  },
  {
    id: "a-tool-names-unique",
    source: "Claude docs: define tools",
    refuses: (facts) =>
      new Set(facts.tools.map(({ name, type }) => name ?? type)).size < facts.tools.length &&
      "tools: Tool names must be unique.",
  },
  {
    id: "a-tool-schema-object",
    source: "Claude docs: define tools",
    refuses: (facts) =>
      facts.tools.some(({ type, input_schema }) => {
        if (type !== undefined && type !== null && type !== "custom") return false;
        if (!isObject(input_schema) || input_schema["type"] !== "object") return true;
        return given(input_schema, "oneOf", "anyOf", "allOf") !== undefined;
      }) &&
      "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level and must be of type object",
  },
  {
    id: "a-choice-needs-tools",
    source: "Claude docs: tool use",
    refuses: (facts) =>
      facts.tools.length === 0 &&
      given(facts.body, "tool_choice") !== undefined &&
      "tool_choice: may only be specified while providing `tools`",
  },
  {
    id: "a-schema",
    source: "Claude docs: structured outputs, JSON Schema limitations; define tools",
    refuses: claudeSchemaRefusal,
  },
];

const limits: readonly Rule[] = [
  {
    id: "a-unknown-field",
    source: "Claude docs: errors; BerriAI/litellm#30557",
    refuses: ({ body }) => {
      const name = unknownField(body, FIELDS);
      return name && `${name}: Extra inputs are not permitted`;
    },
  },
  {
    id: "a-max-tokens-cap",
    source: "Claude docs: models overview",
    refuses: ({ model, body }) =>
      Number(body["max_tokens"]) > claudeCap(model) &&
      `max_tokens: ${String(body["max_tokens"])} > ${claudeCap(model)}, which is the maximum allowed number of output tokens for ${model}`,
  },
  {
    id: "a-prompt-too-long",
    source: "Claude docs: errors; Claude Code reads both numbers",
    refuses: ({ model, inputTokens }) => {
      const window = /-4-5/.test(model) ? 200_000 : 1_000_000;
      return (
        inputTokens > window && `prompt is too long: ${inputTokens} tokens > ${window} maximum`
      );
    },
  },
  {
    id: "a-system-not-empty",
    source: "Claude docs: Messages API reference",
    refuses: ({ body }) =>
      objects(body["system"]).some((block) => text(block["text"]).trim() === "") &&
      "system: text content blocks must be non-empty",
  },
];

const signatures: readonly Rule[] = [
  {
    id: "a-signature-own",
    source:
      "router-for-me/CLIProxyAPI#1584; anomalyco/opencode#8958; anomalyco/opencode#25005; vybestack/llxprt-code#2337",
    refuses: (facts) => {
      for (const [at, turn] of facts.turns.entries()) {
        for (const [index, block] of blocksOf(turn).entries()) {
          if (turn["role"] !== "assistant" || !isThinkingBlock(block)) continue;
          const wrong = wrongThinking(block);
          if (wrong) return `messages.${at}.content.${index}: ${wrong}`;
        }
      }
      return undefined;
    },
  },
  {
    id: "a-signature-prefix",
    models: BOUND,
    source:
      "Claude docs: preserved-thinking; anomalyco/opencode#48637; anthropics/claude-code#63229",
    refuses: (facts) => {
      if (dropsUnbound(facts)) return undefined;
      for (const [at, turn] of facts.turns.entries()) {
        if (turn["role"] !== "assistant") continue;
        for (const block of blocksOf(turn)) {
          if (block["type"] !== "thinking") continue;
          const bound = prefixOf(facts, at);
          if (checkState("anthropic", "signature", block["signature"], bound) === "own") continue;
          return `messages.${at}: The block is bound to a different conversation`;
        }
      }
      return undefined;
    },
  },
];

export const anthropic: readonly Rule[] = [
  ...limits,
  ...claudeOnBedrock,
  ...claudeBetas,
  ...claudeSampling,
  ...claudeThinking,
  ...tools,
  ...anthropicTurns,
  ...anthropicMedia,
  ...signatures,
];
