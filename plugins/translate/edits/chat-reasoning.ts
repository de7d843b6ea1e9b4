import { EFFORT_LEVELS, type Profile } from "../../../core/plugin/index.ts";
import { clampEffort, type EffortLevel } from "../profile.ts";
import type { Draft } from "./draft.ts";

/** The thinking that a request asks for. */
type Wish = "off" | "on" | EffortLevel | undefined;

/** Returns true if the request demands that a tool is called. */
export function isForced(draft: Draft): boolean {
  const choice = draft.body["tool_choice"];
  return choice === "required" || draft.object("tool_choice")?.["type"] === "function";
}

/**
 * Edits effort and thinking to the values that the model accepts, in the fields in which it accepts
 * them.
 */
export function editReasoning(draft: Draft): void {
  const { reasoning, tools_effort: toolsEffort, thinking_default: byDefault } = draft.profile;
  const hasTools = draft.entries("tools").length > 0;
  // With `responses`, only a call without such a route gets here.
  const refusesBoth = toolsEffort === "none" || toolsEffort === "responses";
  if (refusesBoth && hasTools && (byDefault === "on" || draft.has("reasoning_effort"))) {
    const effort = draft.body["reasoning_effort"];
    if (effort != null && effort !== "none") draft.nameDropped("reasoning_effort");
    draft.set("reasoning_effort", "none");
    return;
  }
  const wish = wishOf(draft);
  if (wish === undefined) return;
  if (wish === "off") {
    if (draft.profile.thinking_off !== undefined) applyOff(draft);
    else if (reasoning === "none") dropAll(draft);
    return;
  }
  if (reasoning === "none") {
    dropAll(draft);
    return;
  }
  if (reasoning === "enable_thinking" || reasoning === "thinking") {
    // These models have a switch, and no levels.
    draft.drop("reasoning_effort");
    turnOn(draft);
    return;
  }
  if (reasoning === "thinking+effort") turnOn(draft);
  clampLevel(draft);
}

/** Switches thinking off for a call that must use a tool: the call is a demand, thinking a hint. */
export function switchThinkingOff(draft: Draft): void {
  if (wishOf(draft) !== undefined && wishOf(draft) !== "off") nameAll(draft);
  applyOff(draft);
}

function wishOf(draft: Draft): Wish {
  const type = draft.object("thinking")?.["type"];
  const enabled = draft.body["enable_thinking"];
  const effort = draft.body["reasoning_effort"];
  if (type === "disabled" || enabled === false || effort === "none") return "off";
  const level = EFFORT_LEVELS.find((known) => known === effort);
  return level ?? (type !== undefined || enabled === true ? "on" : undefined);
}

function applyOff(draft: Draft): void {
  const { thinking_off: way } = draft.profile;
  if (way === "refuse") {
    draft.refuse("reasoning_effort", "this model always thinks: leave it out or send a level");
    return;
  }
  draft.remove("reasoning_effort");
  draft.remove("enable_thinking");
  const thinking = draft.object("thinking");
  // Other fields of the object stay, such as GLM's `clear_thinking`.
  if (way === "disabled" && thinking?.["type"] === "disabled") return;
  draft.remove("thinking");
  if (way === "none") draft.set("reasoning_effort", "none");
  else if (way === "disabled") draft.set("thinking", { type: "disabled" });
  else if (way === "enable_thinking") draft.set("enable_thinking", false);
  else if (way === "lowest") {
    draft.set("reasoning_effort", levelsOf(draft.profile)[0] ?? "low");
    draft.nameDropped("reasoning_effort");
  }
}

function turnOn(draft: Draft): void {
  const { reasoning, thinking_default: byDefault } = draft.profile;
  if (reasoning === "enable_thinking") {
    draft.remove("thinking");
    if (byDefault === "on") draft.remove("enable_thinking");
    else draft.set("enable_thinking", true);
    return;
  }
  draft.remove("enable_thinking");
  const { type, budget_tokens: budget, ...own } = draft.object("thinking") ?? {};
  if (budget !== undefined) draft.nameDropped("thinking.budget_tokens");
  // Some makers have fields of their own beside the switch: GLM `clear_thinking`, Kimi `keep`.
  const hasOwn = Object.keys(own).length > 0;
  if (type === "enabled" && budget === undefined && hasOwn) return;
  if (hasOwn || byDefault !== "on") draft.set("thinking", { type: "enabled", ...own });
  else draft.remove("thinking");
}

function clampLevel(draft: Draft): void {
  const effort = draft.body["reasoning_effort"];
  const level = EFFORT_LEVELS.find((known) => known === effort);
  if (level === undefined || draft.profile.effort_levels === undefined) return;
  draft.set("reasoning_effort", clampEffort(level, levelsOf(draft.profile)));
}

function levelsOf({ effort_levels: levels }: Profile): readonly EffortLevel[] {
  return EFFORT_LEVELS.filter((level) => levels?.includes(level) ?? true);
}

function dropAll(draft: Draft): void {
  for (const name of ["reasoning_effort", "thinking", "enable_thinking"]) draft.drop(name);
}

function nameAll(draft: Draft): void {
  for (const name of ["reasoning_effort", "thinking", "enable_thinking"]) {
    if (draft.has(name)) draft.nameDropped(name);
  }
}
