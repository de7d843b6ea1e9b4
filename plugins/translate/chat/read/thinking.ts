import { EFFORT_LEVELS, type JsonObject } from "../../../../core/plugin/index.ts";
import { isGiven, type Scope, withoutNulls } from "../../messages/scope.ts";
import {
  BUDGET_MIN,
  BUDGETS,
  clampEffort,
  type EffortLevel,
  type MessagesProfile,
} from "../../profile.ts";
import type { MessagesRequest } from "../../types.ts";

const THINKING_TYPES = ["enabled", "disabled", "adaptive", "between_tools"];

/** Facts of the request that decide whether the model can think in this turn. */
interface Circumstances {
  /** True if the client set the output limit itself. */
  readonly hasMaxTokens: boolean;
  /** True if the conversation ends in tool results and has no signed thinking. */
  readonly continuesUnsigned: boolean;
}

/**
 * Adds thinking or effort to the request. May raise a default `max_tokens`, so that the reply keeps
 * its room beside the thinking.
 */
export function addThinking(
  body: JsonObject,
  request: MessagesRequest,
  circumstances: Circumstances,
  scope: Scope,
): void {
  const effort = effortOf(body, scope);
  const given = scope.notes.object(body, "thinking", "thinking");
  const { profile } = scope;
  if (profile.thinking === "none") {
    if (given) scope.notes.drop("thinking");
    if (effort !== undefined && effort !== "none") scope.notes.drop("reasoning_effort");
    return;
  }
  if (given && (effort === undefined || !isSwitch(given))) {
    if (effort !== undefined) scope.notes.drop("reasoning_effort");
    addGiven(given, request, circumstances, scope);
    return;
  }
  const isAdaptive = given?.["type"] === "adaptive" && profile.thinking === "adaptive";
  const display = isAdaptive && isGiven(given["display"]) ? given["display"] : undefined;
  if (given) dropOwn(display === undefined ? given : { ...given, display: null }, scope);
  if (effort === undefined) return;
  if (effort === "none") {
    request.thinking = { type: "disabled" };
  } else if (profile.thinking === "adaptive") {
    request.output_config = { effort: clampEffort(effort, profile.effort_levels) };
    // Newer models omit their thoughts by default, and the client asked for reasoning.
    if (mayThink(request))
      request.thinking = { type: "adaptive", display: display ?? "summarized" };
  } else if (mayThink(request) && !circumstances.continuesUnsigned) {
    addBudget(BUDGETS[effort], request, circumstances.hasMaxTokens, profile);
  }
  const asked = request.thinking !== undefined || request.output_config !== undefined;
  if (!asked) scope.notes.drop("reasoning_effort");
  if (given && !isThinking(request)) scope.notes.drop("thinking");
}

/** Returns true if thinking is on. */
function isThinking(request: MessagesRequest): boolean {
  const type = request.thinking?.["type"];
  return type === "enabled" || type === "adaptive";
}

/**
 * Returns false for a forced call, which the upstream refuses together with thinking. The call is
 * more important.
 */
function mayThink(request: MessagesRequest): boolean {
  const choice = request.tool_choice?.type;
  return choice !== "any" && choice !== "tool";
}

/** Returns true for a switch that leaves the effort open. Kimi, GLM, DeepSeek and MiniMax have one, perhaps with fields of their own. */
function isSwitch({ type, budget_tokens: budget }: JsonObject): boolean {
  return type === "adaptive" || (type === "enabled" && !isGiven(budget));
}

function dropOwn(given: JsonObject, { notes }: Scope): void {
  const { type: _, ...own } = withoutNulls(given);
  for (const name of Object.keys(own)) notes.drop(`thinking.${name}`);
}

function addGiven(
  given: JsonObject,
  request: MessagesRequest,
  circumstances: Circumstances,
  scope: Scope,
): void {
  const { profile, notes } = scope;
  const type = given["type"];
  if (!THINKING_TYPES.some((known) => known === type)) {
    notes.invalid("thinking.type", "is not a known type of thinking");
  }
  const thinks = type === "enabled" || type === "adaptive";
  const unsigned = profile.thinking === "budget" && circumstances.continuesUnsigned;
  if (thinks && (!mayThink(request) || unsigned)) {
    notes.drop("thinking");
    return;
  }
  const path = "thinking.budget_tokens";
  const budget = notes.number(given, "budget_tokens", path);
  if (type === "enabled" && budget === undefined) {
    // These makers show what the model thinks.
    dropOwn(given, scope);
    request.thinking = { type: "adaptive", display: "summarized" };
    return;
  }
  request.thinking = withoutNulls(given);
  if (type !== "enabled" || budget === undefined) return;
  if (!circumstances.hasMaxTokens && budget >= request.max_tokens) {
    request.max_tokens = capped(budget + profile.default_max_tokens, profile);
  }
  // A model without budgets gets an effort instead.
  const isBeyond = profile.thinking !== "adaptive" && budget >= request.max_tokens;
  if (!Number.isInteger(budget) || budget < BUDGET_MIN || isBeyond) {
    notes.invalid(path, `must be a whole number from ${BUDGET_MIN} to less than max_tokens`);
  }
}

function addBudget(
  wanted: number,
  request: MessagesRequest,
  hasMaxTokens: boolean,
  profile: MessagesProfile,
): void {
  const maxTokens = hasMaxTokens
    ? request.max_tokens
    : capped(wanted + profile.default_max_tokens, profile);
  const budget = Math.min(wanted, maxTokens - 1);
  // The upstream refuses a budget below the minimum.
  if (budget < BUDGET_MIN) return;
  request.max_tokens = maxTokens;
  request.thinking = { type: "enabled", budget_tokens: budget };
}

function capped(maxTokens: number, profile: MessagesProfile): number {
  return Math.min(maxTokens, profile.max_output_tokens ?? maxTokens);
}

function effortOf(body: JsonObject, scope: Scope): EffortLevel | "none" | undefined {
  const given = body["reasoning_effort"];
  if (!isGiven(given)) return undefined;
  if (given === "none") return "none";
  const level = EFFORT_LEVELS.find((known) => known === given);
  if (level === undefined) scope.notes.invalid("reasoning_effort", "is not a known effort level");
  return level;
}
