import * as v from "valibot";

/** Effort levels in ascending order. A profile lists those its model accepts. */
export const EFFORT_LEVELS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type EffortLevel = (typeof EFFORT_LEVELS)[number];

const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const limit = v.nullable(count);
const effortLevels = v.pipe(v.array(v.picklist(EFFORT_LEVELS)), v.nonEmpty());

/**
 * What an upstream model accepts, as it stands in the config of an upstream or of a route. All keys are
 * optional. An upstream may speak both protocols, so one object holds the keys of both; where the same key
 * takes different values on either side, each side reads only the values it knows.
 */
export const profile = v.strictObject({
  /** Chat: how strict the server is. `openai` also means Azure; `compatible` means vLLM, Groq and so on. */
  dialect: v.optional(v.picklist(["openai", "compatible"])),
  /** Chat: the name of the output cap; by dialect unless set. */
  max_tokens_field: v.optional(v.picklist(["max_completion_tokens", "max_tokens"])),
  /** Chat: `full`, or `fixed` for models that refuse it. Messages: `one` of temperature and top_p, `both`, `none`. */
  sampling: v.optional(v.picklist(["full", "fixed", "one", "both", "none"])),
  /** Chat: the server takes `top_k`. */
  top_k: v.optional(v.boolean()),
  /** Chat: how many stop sequences it takes; null is no limit; by dialect unless set. */
  max_stops: v.optional(limit),
  /** Chat: `none` where the model has no effort field. */
  reasoning: v.optional(v.picklist(["effort", "none"])),
  /** Both: the effort levels the model accepts. */
  effort_levels: v.optional(effortLevels),
  /** Chat: earlier thinking goes back as `reasoning_content`. */
  replay_reasoning: v.optional(v.boolean()),
  /** Both: where a system message in mid-conversation goes. Only Chat knows `user`. */
  mid_system: v.optional(v.picklist(["inline", "hoist", "user"])),
  /** Chat: keep cache marks, for Claude behind a Chat server. */
  cache_control: v.optional(v.picklist(["drop", "keep"])),
  /** Chat: what becomes of tools that only a Messages server runs. */
  unsupported_tools: v.optional(v.picklist(["reject", "drop"])),
  /** Chat: the longest tool name, in characters. Room for 12 digits of a hash must be left. */
  tool_name_max: v.optional(v.pipe(v.number(), v.integer(), v.minValue(16))),
  /** Chat: the longest tool call id, in characters; null is no limit; by dialect unless set. */
  tool_id_max: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(37)))),
  /** Messages: the output cap where the client gave none; the model's maximum is best. */
  default_max_tokens: v.optional(count),
  /** Messages: the most the model puts out; null is not known. */
  max_output_tokens: v.optional(limit),
  /** Messages: how the model is asked to think. */
  thinking: v.optional(v.picklist(["adaptive", "budget", "none"])),
  /** Messages: `tool` emulates structured output with a forced tool. */
  structured_outputs: v.optional(v.picklist(["native", "tool"])),
  /** Messages: the model goes on from a trailing assistant turn. */
  prefill: v.optional(v.boolean()),
});

export type Profile = v.InferOutput<typeof profile>;

/** The profile of a Chat Completions upstream, every key decided. */
export interface ChatProfile {
  readonly dialect: "openai" | "compatible";
  readonly max_tokens_field: "max_completion_tokens" | "max_tokens";
  readonly sampling: "full" | "fixed";
  readonly top_k: boolean;
  readonly max_stops: number | null;
  readonly reasoning: "effort" | "none";
  readonly effort_levels: readonly EffortLevel[];
  readonly replay_reasoning: boolean;
  readonly mid_system: "inline" | "hoist" | "user";
  readonly cache_control: "drop" | "keep";
  readonly unsupported_tools: "reject" | "drop";
  readonly tool_name_max: number;
  readonly tool_id_max: number | null;
}

/** The profile of a Messages upstream, every key decided. */
export interface MessagesProfile {
  readonly default_max_tokens: number;
  readonly max_output_tokens: number | null;
  readonly sampling: "one" | "both" | "none";
  readonly thinking: "adaptive" | "budget" | "none";
  readonly effort_levels: readonly EffortLevel[];
  readonly structured_outputs: "native" | "tool";
  readonly mid_system: "hoist" | "inline";
  readonly prefill: boolean;
}

/** The profile of a route: what the route says goes before what its upstream says. */
export function mergeProfiles(upstream: Profile = {}, route: Profile = {}): Profile {
  return { ...upstream, ...route };
}

/** Decides every key for a Chat Completions upstream. */
export function chatProfile(given: Profile = {}): ChatProfile {
  const dialect = given.dialect ?? "openai";
  const strict = dialect === "openai";
  return {
    dialect,
    max_tokens_field: given.max_tokens_field ?? (strict ? "max_completion_tokens" : "max_tokens"),
    sampling: given.sampling === "fixed" ? "fixed" : "full",
    top_k: given.top_k ?? false,
    max_stops: given.max_stops === undefined ? (strict ? 4 : null) : given.max_stops,
    reasoning: given.reasoning ?? "effort",
    effort_levels: ascending(given.effort_levels),
    replay_reasoning: given.replay_reasoning ?? false,
    mid_system: given.mid_system ?? "inline",
    cache_control: given.cache_control ?? "drop",
    unsupported_tools: given.unsupported_tools ?? "reject",
    tool_name_max: given.tool_name_max ?? 64,
    tool_id_max: given.tool_id_max === undefined ? (strict ? 40 : null) : given.tool_id_max,
  };
}

/** Decides every key for a Messages upstream. */
export function messagesProfile(given: Profile = {}): MessagesProfile {
  const sampling = given.sampling;
  return {
    default_max_tokens: given.default_max_tokens ?? 32_000,
    max_output_tokens: given.max_output_tokens ?? null,
    sampling: sampling === "both" || sampling === "none" ? sampling : "one",
    thinking: given.thinking ?? "adaptive",
    effort_levels: ascending(given.effort_levels),
    structured_outputs: given.structured_outputs ?? "native",
    // Few models accept a system message inside the conversation, so here the default is to hoist.
    mid_system: given.mid_system === "inline" ? "inline" : "hoist",
    prefill: given.prefill ?? true,
  };
}

/**
 * The level to ask for: the highest accepted one that is not above the level wanted, else the lowest.
 * `accepted` is in ascending order and not empty.
 */
export function clampEffort(wanted: EffortLevel, accepted: readonly EffortLevel[]): EffortLevel {
  const rank = EFFORT_LEVELS.indexOf(wanted);
  const below = accepted.filter((level) => EFFORT_LEVELS.indexOf(level) <= rank);
  return below.at(-1) ?? accepted[0] ?? wanted;
}

function ascending(levels: readonly EffortLevel[] | undefined): readonly EffortLevel[] {
  if (levels === undefined) return ["low", "medium", "high"];
  return EFFORT_LEVELS.filter((level) => levels.includes(level));
}
