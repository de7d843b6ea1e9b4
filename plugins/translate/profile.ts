import { EFFORT_LEVELS, type Profile } from "../../core/plugin/index.ts";

export type EffortLevel = (typeof EFFORT_LEVELS)[number];

/** The profile of a Chat Completions upstream with every key set. */
export interface ChatProfile {
  readonly maker: string | undefined;
  readonly dialect: "openai" | "compatible";
  readonly max_tokens_field: "max_completion_tokens" | "max_tokens";
  readonly top_k: boolean;
  readonly max_stops: number | null;
  readonly reasoning: NonNullable<Profile["reasoning"]>;
  readonly thinking_off: Profile["thinking_off"];
  readonly effort_levels: readonly EffortLevel[];
  readonly replay: Profile["replay"];
  readonly mid_system: "inline" | "hoist" | "user";
  readonly cache_control: "drop" | "keep";
  readonly tool_name_max: number;
  readonly tool_id_max: number | null;
  readonly cached_tokens: "inside" | "beside";
}

/** Sets every missing key to its default for a Chat Completions upstream. */
export function chatProfile(given: Profile = {}): ChatProfile {
  const dialect = given.dialect ?? "openai";
  const strict = dialect === "openai";
  return {
    maker: given.maker,
    dialect,
    max_tokens_field: given.max_tokens_field ?? (strict ? "max_completion_tokens" : "max_tokens"),
    top_k: given.top_k ?? false,
    max_stops: given.max_stops === undefined ? (strict ? 4 : null) : given.max_stops,
    reasoning: given.reasoning ?? "effort",
    thinking_off: given.thinking_off,
    effort_levels: ascending(given.effort_levels),
    replay: given.replay,
    mid_system: given.mid_system ?? "inline",
    cache_control: given.cache_control ?? "drop",
    tool_name_max: given.tool_name_max ?? 64,
    tool_id_max: given.tool_id_max === undefined ? (strict ? 40 : null) : given.tool_id_max,
    cached_tokens: given.cached_tokens ?? "inside",
  };
}

/** Thinking budgets in tokens per effort level, for models that take a budget. */
export const BUDGETS: Readonly<Record<EffortLevel, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};
/** The smallest budget that the upstream accepts. */
export const BUDGET_MIN = 1024;

/**
 * Returns the level to ask for: the highest accepted one that is not above `wanted`, else the
 * lowest. `accepted` is in ascending order and not empty.
 */
export function clampEffort(wanted: EffortLevel, accepted: readonly EffortLevel[]): EffortLevel {
  const rank = EFFORT_LEVELS.indexOf(wanted);
  const below = accepted.filter((level) => EFFORT_LEVELS.indexOf(level) <= rank);
  return below.at(-1) ?? accepted[0] ?? wanted;
}

/** Returns the stated levels without `none`; three levels if none are stated. */
export function ascending(levels: Profile["effort_levels"]): readonly EffortLevel[] {
  if (levels === undefined) return ["low", "medium", "high"];
  return EFFORT_LEVELS.filter((level) => levels.includes(level));
}
