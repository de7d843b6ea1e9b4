import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { claudeThinks } from "./anthropic-thinking.ts";
import { blocksOf, isThinkingBlock } from "./message-turns.ts";
import { type Facts, objectIn, objects, type Rule, text } from "./rule.ts";

/** Blocks of results, of all turns in order. */
function resultsOf(turn: JsonObject | undefined): JsonObject[] {
  return turn ? blocksOf(turn).filter((block) => block["type"] === "tool_result") : [];
}

function callIds(turn: JsonObject | undefined): string[] {
  if (turn?.["role"] !== "assistant") return [];
  return blocksOf(turn)
    .filter((block) => block["type"] === "tool_use")
    .map((block) => text(block["id"]));
}

function marksIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + marksIn(item), 0);
  if (!isObject(value)) return 0;
  const own = value["cache_control"] == null ? 0 : 1;
  return own + marksIn(value["content"]);
}

function textsIn(turns: readonly JsonObject[]): JsonObject[] {
  return turns.flatMap(blocksOf).flatMap((block) => {
    if (block["type"] === "text") return [block];
    return objects(block["content"]).filter(({ type }) => type === "text");
  });
}

/** The turns without system entries, which may stand between others. */
function spoken({ turns }: Facts): JsonObject[] {
  return turns.filter((turn) => turn["role"] !== "system");
}

/** The turns of the assistant since words of the user without results: neighbouring turns of the user are one. */
function runningStep({ turns }: Facts): JsonObject[] {
  const isStart = (turn: JsonObject, at: number) => {
    const earlier = turns.slice(0, at).findLastIndex(({ role }) => role === "assistant");
    const asked = turns.slice(earlier + 1, at + 1);
    return turn["role"] === "user" && asked.flatMap(resultsOf).length === 0;
  };
  const start = turns.findLastIndex(isStart);
  return turns.slice(start + 1).filter((turn) => turn["role"] === "assistant");
}

function hasThinking(turn: JsonObject): boolean {
  return blocksOf(turn).some(isThinkingBlock);
}

/** Returns true for a turn with a tool of the provider, which it continues after `pause_turn`. */
function isPaused(turn: JsonObject | undefined): boolean {
  return turn !== undefined && blocksOf(turn).some(({ type }) => type === "server_tool_use");
}

export const anthropicTurns: readonly Rule[] = [
  {
    id: "a-prefill",
    models: /^claude-(.*-4-[678]|(fable|opus|sonnet|haiku)-5)/,
    source: "snap-stanford/Biomni#284; Claude docs: whats-new-claude-4-6",
    refuses: (facts) =>
      spoken(facts).at(-1)?.["role"] === "assistant" &&
      !isPaused(spoken(facts).at(-1)) &&
      "This model does not support assistant message prefill. The conversation must end with a user message.",
  },
  {
    id: "a-prefill-trailing-space",
    source: "anomalyco/opencode#13768",
    refuses: (facts) => {
      const last = spoken(facts).at(-1);
      const said = last?.["role"] === "assistant" ? text(blocksOf(last).at(-1)?.["text"]) : "";
      return (
        said !== said.trimEnd() &&
        "messages: final assistant content cannot end with trailing whitespace"
      );
    },
  },
  {
    id: "a-system-role",
    models: /^claude-(haiku-4|sonnet-4|opus-4-[567]|sonnet-5$)/,
    source: "Claude docs: mid-conversation-system-messages; zai-org/GLM-5#74",
    refuses: ({ turns }) =>
      turns.some((turn) => turn["role"] === "system") &&
      "messages: role 'system' is not supported on this model",
  },
  {
    id: "a-system-place",
    source: "Claude docs: mid-conversation-system-messages (placement)",
    refuses: ({ turns }) =>
      turns.some(
        (turn, at) =>
          turn["role"] === "system" &&
          // A turn with settings alone may stand anywhere.
          blocksOf(turn).length > 0 &&
          (at === 0 ||
            turns[at - 1]?.["role"] === "assistant" ||
            resultsOf(turns[at + 1]).length > 0),
      ) && "messages: role 'system' may only follow a user turn",
  },
  {
    id: "a-calls-answered",
    source: "Claude docs: tool use",
    refuses: (facts) => {
      const turns = spoken(facts);
      for (const [at, turn] of turns.entries()) {
        const results = new Set(resultsOf(turns[at + 1]).map((block) => block["tool_use_id"]));
        const open = callIds(turn).filter((id) => !results.has(id));
        if (open.length === 0) continue;
        return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
      }
      return undefined;
    },
  },
  {
    id: "a-result-orphan",
    source: "Claude docs: tool use",
    refuses: (facts) => {
      const turns = spoken(facts);
      for (const [at, turn] of turns.entries()) {
        const calls = callIds(turns[at - 1]);
        const orphan = resultsOf(turn).find((block) => !calls.includes(text(block["tool_use_id"])));
        if (orphan)
          return `messages.${at}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${text(orphan["tool_use_id"])}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
      }
      return undefined;
    },
  },
  {
    id: "a-tool-id",
    source: "BerriAI/litellm#21114; maximhq/bifrost#5097",
    refuses: ({ turns }) =>
      turns.flatMap(callIds).some((id) => !/^[a-zA-Z0-9_-]+$/.test(id)) &&
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    id: "a-thinking-first",
    source: "BerriAI/litellm#17106; anomalyco/opencode#8958; BerriAI/litellm#18926",
    refuses: (facts) => {
      if (objectIn(facts.body, "thinking")?.["type"] !== "enabled") return undefined;
      const step = runningStep(facts);
      // Without interleaved thinking, Claude thinks only before the first call.
      if (callIds(step.at(-1)).length === 0 || step.some(hasThinking)) return undefined;
      const [first] = step.flatMap(blocksOf);
      return `messages.1.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${text(first?.["type"])}\``;
    },
  },
  {
    id: "a-thinking-off-final",
    models: /^claude-(haiku|sonnet|opus)-4-[156]/,
    source: "BerriAI/litellm#18926; tailcallhq/forgecode#1853; microsoft/vscode#282326",
    refuses: (facts) =>
      !claudeThinks(facts) &&
      runningStep(facts).some(hasThinking) &&
      "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.",
  },
  {
    id: "a-text-not-empty",
    source: "anomalyco/opencode#31259; NousResearch/hermes-agent#55092",
    refuses: ({ turns }) =>
      textsIn(turns).some((block) => text(block["text"]).trim() === "") &&
      "messages: text content blocks must contain non-whitespace text",
  },
  {
    id: "a-content-not-empty",
    source: "home-assistant/core#175637",
    refuses: ({ turns }) =>
      turns
        .slice(0, -1)
        .some((turn) => blocksOf(turn).length === 0 && turn["output_config"] === undefined) &&
      "messages: all messages must have non-empty content except for the optional final assistant message",
  },
  {
    id: "a-cache-marks",
    source: "Claude docs: prompt caching",
    refuses: ({ body }) =>
      marksIn(body["tools"]) + marksIn(body["system"]) + marksIn(body["messages"]) > 4 &&
      "A maximum of 4 blocks with cache_control may be provided.",
  },
  {
    id: "a-cache-on-thinking",
    source: "Claude docs: prompt caching",
    refuses: ({ turns }) =>
      turns
        .flatMap(blocksOf)
        .some((block) => isThinkingBlock(block) && block["cache_control"] != null) &&
      "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
  },
];
