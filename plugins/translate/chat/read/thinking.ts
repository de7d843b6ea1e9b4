import { EFFORT_LEVELS, type JsonObject } from "../../../../core/plugin/index.ts";
import { isGiven, type Scope, withoutNulls } from "../../messages/scope.ts";
import type { EffortLevel } from "../../profile.ts";
import type { MessagesRequest } from "../../types.ts";

const THINKING_TYPES = ["enabled", "disabled", "adaptive", "between_tools"];

/** Adds thinking or effort to the request, as the client asks for it. The edits fit both to the model. */
export function addThinking(body: JsonObject, request: MessagesRequest, scope: Scope): void {
  const effort = effortOf(body, scope);
  const given = scope.notes.object(body, "thinking", "thinking");
  if (given && (effort === undefined || !isSwitch(given))) {
    if (effort !== undefined) scope.notes.drop("reasoning_effort");
    addGiven(given, request, scope);
    return;
  }
  const isAdaptive = given?.["type"] === "adaptive";
  const display = isAdaptive && isGiven(given["display"]) ? given["display"] : undefined;
  if (given) dropOwn(display === undefined ? given : { ...given, display: null }, scope);
  if (effort === undefined) return;
  if (effort === "none") request.thinking = { type: "disabled" };
  else request.output_config = { effort };
  if (effort !== "none" && mayThink(request)) {
    // Newer models omit their thoughts by default, and the client asked for reasoning.
    request.thinking = { type: "adaptive", display: display ?? "summarized" };
  } else if (given) scope.notes.drop("thinking");
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

function addGiven(given: JsonObject, request: MessagesRequest, scope: Scope): void {
  const { notes } = scope;
  const type = given["type"];
  if (!THINKING_TYPES.some((known) => known === type)) {
    notes.invalid("thinking.type", "is not a known type of thinking");
  }
  if ((type === "enabled" || type === "adaptive") && !mayThink(request)) {
    notes.drop("thinking");
    return;
  }
  const budget = notes.number(given, "budget_tokens", "thinking.budget_tokens");
  if (type !== "enabled" || budget !== undefined) {
    request.thinking = withoutNulls(given);
    return;
  }
  // These makers show what the model thinks.
  dropOwn(given, scope);
  request.thinking = { type: "adaptive", display: "summarized" };
}

function effortOf(body: JsonObject, scope: Scope): EffortLevel | "none" | undefined {
  const given = body["reasoning_effort"];
  if (!isGiven(given)) return undefined;
  if (given === "none") return "none";
  const level = EFFORT_LEVELS.find((known) => known === given);
  if (level === undefined) scope.notes.invalid("reasoning_effort", "is not a known effort level");
  return level;
}
