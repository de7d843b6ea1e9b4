import { EFFORT_LEVELS, type JsonObject } from "../../../../core/plugin/index.ts";
import type { Notes } from "../../notes.ts";
import { clampEffort, type EffortLevel } from "../../profile.ts";
import type { ChatRequest } from "../../types.ts";
import type { Scope } from "./scope.ts";

/**
 * Adds the reasoning effort that matches the client's effort or thinking budget. Chat has no field
 * for thinking. Switches thinking off only if the profile says how, because most models refuse the
 * value for that.
 */
export function addEffort(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const { notes, profile } = scope;
  const thinking = notes.object(body, "thinking", "thinking");
  const config = notes.object(body, "output_config", "output_config");
  // A summary at most, and only if the model shows one anyway.
  if (thinking?.["display"] === "updates") notes.drop("thinking.display");
  const level = effortOf(config, notes) ?? effortOfBudget(thinking, notes);
  if (thinking?.["type"] === "disabled" && profile.thinking_off !== undefined) {
    request.reasoning_effort = "none";
    return;
  }
  if (level === undefined) return;
  if (profile.reasoning === "none") notes.drop(thinking ? "thinking" : "output_config.effort");
  else request.reasoning_effort = clampEffort(level, profile.effort_levels);
}

function effortOf(config: JsonObject | undefined, notes: Notes): EffortLevel | undefined {
  const given = config?.["effort"];
  if (given === undefined || given === null) return undefined;
  const level = EFFORT_LEVELS.find((known) => known === given);
  if (level === undefined) notes.invalid("output_config.effort", "is not a known effort level");
  return level;
}

function effortOfBudget(thinking: JsonObject | undefined, notes: Notes): EffortLevel | undefined {
  if (thinking?.["type"] !== "enabled") return undefined;
  const budget = notes.number(thinking, "budget_tokens", "thinking.budget_tokens");
  if (budget === undefined) {
    notes.invalid("thinking.budget_tokens", "is missing");
    return undefined;
  }
  if (budget < 4096) return "low";
  return budget < 16_384 ? "medium" : "high";
}
