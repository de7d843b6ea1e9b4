import type { JsonObject } from "../../../core/process/json.ts";
import { blocksOf } from "./message-turns.ts";
import { type Facts, objectIn, type Rule, text } from "./rule.ts";

const TURN_EFFORT = ["per-turn-control-2026-07-01", "mid-conversation-output-config-2026-07-01"];
const TOOL_CHANGES = ["mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15"];
const EXTRA = "Extra inputs are not permitted";

/** Fields that need a beta: the beta, without its date, of which the request must have one. */
const TOP: Readonly<Record<string, readonly string[]>> = {
  compaction: ["compact"],
  context_management: ["context-management", "compact"],
  mcp_servers: ["mcp-client"],
  output_format: ["structured-outputs"],
};
const OF_TURNS: Readonly<Record<string, readonly string[]>> = {
  output_config: TURN_EFFORT,
  clear_at: ["mid-conversation-system-clear-at"],
};

function has({ headers }: Facts, betas: readonly string[]): boolean {
  const sent = text(headers["anthropic-beta"]).split(",");
  return betas.some((beta) => sent.some((name) => name.trim().startsWith(beta)));
}

function missing(
  facts: Facts,
  holder: JsonObject,
  table: Readonly<Record<string, readonly string[]>>,
): string | undefined {
  return Object.keys(table).find(
    (name) => holder[name] !== undefined && !has(facts, table[name] ?? []),
  );
}

/** The provider refuses a field, a value or a block whose beta the header does not name. */
export const claudeBetas: readonly Rule[] = [
  {
    id: "a-beta-field",
    source: "Claude docs: beta headers; types of @anthropic-ai/sdk 1.14.0",
    refuses: (facts) => {
      const name = missing(facts, facts.body, TOP);
      if (name) return `${name}: ${EXTRA}`;
      const budget = objectIn(facts.body, "output_config")?.["task_budget"];
      return (
        budget !== undefined &&
        !has(facts, ["task-budgets"]) &&
        `output_config.task_budget: ${EXTRA}`
      );
    },
  },
  {
    id: "a-beta-thinking",
    source: "Claude docs: preserved thinking; types of @anthropic-ai/sdk 1.14.0",
    refuses: (facts) => {
      const thinking = objectIn(facts.body, "thinking") ?? {};
      const path = `thinking.${text(thinking["type"])}`;
      if (thinking["block_binding"] !== undefined && !has(facts, ["thinking-binding-controls"])) {
        return `${path}.block_binding: ${EXTRA}`;
      }
      return (
        thinking["display"] === "updates" &&
        !has(facts, ["thinking-display-updates"]) &&
        `${path}.display: Input should be 'summarized' or 'omitted'`
      );
    },
  },
  {
    id: "a-beta-turn",
    source:
      "router-for-me/CLIProxyAPI#5563; Wei-Shaw/sub2api#6995; router-for-me/CLIProxyAPI#5583; router-for-me/CLIProxyAPI#5738",
    refuses: (facts) => {
      for (const [at, turn] of facts.turns.entries()) {
        const name = missing(facts, turn, OF_TURNS);
        if (name) return `messages.${at}.${name}: ${EXTRA}`;
      }
      return undefined;
    },
  },
  {
    id: "a-beta-tool-change",
    source: "Claude docs: mid-conversation-system-messages",
    refuses: (facts) => {
      if (has(facts, TOOL_CHANGES)) return undefined;
      for (const [at, turn] of facts.turns.entries()) {
        const index = blocksOf(turn).findIndex(({ type }) =>
          /^tool_(addition|removal)$/.test(text(type)),
        );
        if (index < 0) continue;
        const type = text(blocksOf(turn)[index]?.["type"]);
        return `messages.${at}.content.${index}: Input tag '${type}' found using 'type' does not match any of the expected tags: 'text'`;
      }
      return undefined;
    },
  },
];
