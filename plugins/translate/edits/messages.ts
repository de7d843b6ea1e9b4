import { arrayOf, EFFORT_LEVELS, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { isBlank } from "../arguments.ts";
import { DEFAULT_TOKENS } from "../messages/limit.ts";
import { isThought, THOUGHTS } from "../messages/thoughts.ts";
import { ascending, BUDGET_MIN, BUDGETS, clampEffort, type EffortLevel } from "../profile.ts";
import { inWords } from "../reply-format.ts";
import { isEnvelope } from "../state/seal.ts";
import { editCacheMarks } from "./cache-marks.ts";
import type { Draft } from "./draft.ts";
import { editMessagesSchemas } from "./schemas.ts";

/** Thinking that is switched off, in each of its forms. */
const OFF = ["disabled", "between_tools"];
/** Minimum `top_p` with thinking: the upstream refuses a smaller one. */
const THINKING_TOP_P_MIN = 0.95;
/** Blocks that only the provider writes into a turn of the assistant, beside results of its tools. */
const PAUSED = ["server_tool_use", "mcp_tool_use", "compaction"];
/** An edit that the provider refuses without thinking: anthropics/claude-code#11971. */
const CLEAR_THINKING = "clear_thinking_20251015";

/**
 * Edits a Messages request to the form that its model accepts. Each edit is one field or one entry.
 */
export function editMessages(draft: Draft): void {
  hoistSystem(draft);
  leaveRefused(draft);
  leaveRefusedBlocks(draft);
  editForcedTool(draft);
  editThinking(draft);
  dropUnsignedThinking(draft);
  leaveThinkingOff(draft);
  editEffort(draft);
  if (draft.isTranslated) fitSampling(draft);
  editSampling(draft);
  editMessagesSchemas(draft);
  if (draft.isTranslated) editCacheMarks(draft);
  refusePrefill(draft);
  if (draft.profile.thinking_binding && draft.isTranslated) bindThinking(draft);
}

/**
 * Asks to drop thinking that belongs to another conversation: a translation may rewrite the turns
 * before a signed block. Source: Claude docs, preserved-thinking.
 */
function bindThinking(draft: Draft): void {
  const isSigned = draft
    .entries("messages")
    .flatMap((turn) => arrayOf(objectOf(turn)?.["content"]))
    .some((block) => objectOf(block)?.["type"] === "thinking");
  if (!isSigned) return;
  const block_binding = { prefix_mismatch_behavior: "drop_block" };
  draft.set("thinking", { type: "adaptive", ...draft.object("thinking"), block_binding });
}

/**
 * Leaves out what other makers' models have written and the provider refuses: thinking without a signature, or with one that
 * a gateway has made, and texts of white space.
 */
function leaveRefusedBlocks(draft: Draft): void {
  const { unread } = draft;
  if (unread && !unread.hasBlankText && !unread.types.includes("thinking")) return;
  leaveBlocks(draft, (block) => isForeign(block) || isBlankText(block));
}

function isBlankText(block: unknown): boolean {
  const { type, text } = objectOf(block) ?? {};
  return type === "text" && typeof text === "string" && isBlank(text);
}

/** Leaves blocks out of turns of the assistant, and turns of which nothing is left. */
function leaveBlocks(draft: Draft, isLeft: (block: unknown) => boolean, from = 0): void {
  const turns = draft.entries("messages");
  const kept = turns.map((given, at) => {
    const turn = objectOf(given);
    const text = turn?.["content"];
    const content = typeof text === "string" ? [{ type: "text", text }] : arrayOf(text);
    if (at < from || turn?.["role"] !== "assistant" || !content.some(isLeft)) return given;
    const rest = content.filter((block) => !isLeft(block));
    return rest.length > 0 ? { ...turn, content: rest } : undefined;
  });
  if (kept.every((turn, at) => turn === turns[at])) return;
  draft.set(
    "messages",
    kept.filter((turn) => turn !== undefined),
  );
}

function isForeign(entry: unknown): boolean {
  const block = objectOf(entry);
  if (block?.["type"] !== "thinking") return false;
  const { signature } = block;
  return typeof signature !== "string" || signature === "" || isEnvelope(signature);
}

/** Moves system entries of the conversation into `system`, for a model that refuses them. */
function hoistSystem(draft: Draft): void {
  if (draft.profile.mid_system !== "hoist") return;
  if (draft.unread && !draft.unread.roles["system"]) return;
  const messages = draft.entries("messages");
  const entries = messages.filter((turn) => objectOf(turn)?.["role"] === "system");
  if (entries.length === 0) return;
  const texts = [draft.body["system"], ...entries.map((entry) => objectOf(entry)?.["content"])];
  draft.set("system", texts.flatMap(blocksOf));
  draft.set(
    "messages",
    messages.filter((turn) => objectOf(turn)?.["role"] !== "system"),
  );
}

/** Leaves out fields that the provider refuses. A schema of the reply becomes words, so that the model still knows it. */
function leaveRefused(draft: Draft): void {
  const { refused_fields: refused = [] } = draft.profile;
  for (const path of refused) {
    const [name = "", part] = path.split(".");
    if (part === undefined) leaveField(draft, name, path);
    else if (name === "tools") leavePartOfTools(draft, part, path);
    else leavePart(draft, name, part, path);
  }
}

function leaveField(draft: Draft, name: string, path: string): void {
  if (isFormat(path)) sayFormat(draft, draft.object(name));
  draft.drop(name);
  draft.remove(name);
}

function leavePart(draft: Draft, name: string, part: string, path: string): void {
  const holder = draft.object(name);
  if (!holder || !(part in holder)) return;
  const value = holder[part];
  if (isFormat(path)) sayFormat(draft, objectOf(value));
  removePart(draft, name, part);
  // The protocols of other clients have their own name for the format.
  const isOther = isFormat(path) && draft.isTranslated;
  if (value != null) draft.nameDropped(isOther ? "response_format" : path);
}

function leavePartOfTools(draft: Draft, part: string, path: string): void {
  draft.editEntries("tools", (tool) => {
    if (!(part in tool)) return tool;
    const { [part]: value, ...rest } = tool;
    if (value) draft.nameDropped(path);
    return rest;
  });
}

/** `output_format` is the name before `output_config.format`. */
function isFormat(path: string): boolean {
  return path === "output_config.format" || path === "output_format";
}

function sayFormat(draft: Draft, format: JsonObject | undefined): void {
  const schema = objectOf(format?.["schema"]);
  if (!schema) return;
  const words = { type: "text", text: inWords(schema) };
  draft.set("system", [...blocksOf(draft.body["system"]), words]);
}

function blocksOf(content: unknown): unknown[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return [...arrayOf(content)];
}

function editForcedTool(draft: Draft): void {
  if (!isForced(draft)) return;
  const { forced_tools: way, thinking } = draft.profile;
  if (way === "refuse") {
    draft.refuse("tool_choice", "this model cannot be made to call a tool: send auto");
  }
  // The provider refuses both together, and the call is a demand.
  const isOff = OFF.includes(String(draft.object("thinking")?.["type"]));
  if (!isOff && (thinking === "budget" || way === "thinking_off")) dropThinking(draft);
}

function isForced(draft: Draft): boolean {
  const type = draft.object("tool_choice")?.["type"];
  return type === "any" || type === "tool";
}

function editThinking(draft: Draft): void {
  const { thinking: kind, thinking_off: off } = draft.profile;
  const thinking = draft.object("thinking");
  const type = thinking?.["type"];
  if (!thinking) return;
  // Clients of Google say so that a model is not to think.
  const isOff = draft.isTranslated && thinking["budget_tokens"] === 0;
  if (kind === "none" || isOff) dropThinking(draft);
  else if (type === "enabled" && kind === "adaptive") useEffort(draft, thinking);
  else if (type === "enabled" && draft.isTranslated) fitBudget(draft, thinking);
  else if (kind === undefined) return;
  else if (type === "disabled" && off !== undefined) switchOff(draft);
  else if (type === "between_tools" && off !== "between_tools") switchOff(draft);
  else if (type === "adaptive" && kind === "budget") useBudget(draft, thinking);
}

function switchOff(draft: Draft): void {
  const { thinking_off: off } = draft.profile;
  if (off === "refuse") {
    draft.refuse("thinking", "this model always thinks: leave it out");
  } else if (off === "lowest") {
    draft.drop("thinking");
    draft.set("output_config", { ...draft.object("output_config"), effort: levelsOf(draft)[0] });
  } else if (off === "between_tools" || off === "disabled") {
    draft.set("thinking", { type: off });
  }
}

/** A budget of tokens becomes an effort, unless one is stated. */
function useEffort(draft: Draft, { budget_tokens: budget, display }: JsonObject): void {
  draft.set("thinking", { type: "adaptive", ...(display === undefined ? {} : { display }) });
  draft.nameDropped("thinking.budget_tokens");
  const config = draft.object("output_config");
  if (config?.["effort"] !== undefined) return;
  const tokens = Number(budget);
  const effort = tokens < 4096 ? "low" : tokens < 16_384 ? "medium" : "high";
  draft.set("output_config", { ...config, effort });
}

/** Thinking without a budget becomes one of its effort, whose thoughts are shown. */
function useBudget(draft: Draft, { display }: JsonObject): void {
  const effort = effortOf(draft);
  if (display === "omitted") draft.nameDropped("thinking.display");
  setBudget(draft, { type: "enabled" }, BUDGETS[effort ?? "medium"]);
  if (draft.has("thinking") && effort !== undefined) removePart(draft, "output_config", "effort");
}

/** Replaces a budget that the provider refuses. A client of Messages knows the rule. */
function fitBudget(draft: Draft, thinking: JsonObject): void {
  const budget = Number(thinking["budget_tokens"]);
  const isTaken = Number.isInteger(budget) && budget >= BUDGET_MIN;
  if (isTaken && budget < Number(draft.body["max_tokens"])) return;
  draft.nameDropped("thinking.budget_tokens");
  setBudget(draft, thinking, Math.max(BUDGET_MIN, Math.floor(budget)));
}

/** Leaves half of the output to the reply, or as much as a default limit. Drops thinking if there is no room for a budget. */
function setBudget(draft: Draft, thinking: JsonObject, wanted: number): void {
  const limit = Number(draft.body["max_tokens"]);
  const budget_tokens = Math.min(wanted, Math.max(Math.floor(limit / 2), limit - DEFAULT_TOKENS));
  if (budget_tokens < BUDGET_MIN) dropThinking(draft);
  else draft.set("thinking", { ...thinking, budget_tokens });
}

function effortOf(draft: Draft): EffortLevel | undefined {
  const effort = draft.object("output_config")?.["effort"];
  return EFFORT_LEVELS.find((known) => known === effort);
}

/** Removes a field of an object, and the object with its last one. */
function removePart(draft: Draft, name: string, part: string): void {
  const { [part]: _, ...rest } = draft.object(name) ?? {};
  if (Object.keys(rest).length > 0) draft.set(name, rest);
  else draft.remove(name);
}

/**
 * Drops a budget of thinking in the middle of a step that began without thinking, or whose thinking
 * was another maker's: the provider refuses both together. Thinking before one of its calls is enough: without interleaved
 * thinking, Claude thinks only before the first. Sources: BerriAI/litellm#17106, BerriAI/litellm#18926.
 */
function dropUnsignedThinking(draft: Draft): void {
  if (draft.object("thinking")?.["type"] !== "enabled") return;
  const step = draft
    .entries("messages")
    .slice(startOfStep(draft))
    .filter((turn) => objectOf(turn)?.["role"] === "assistant");
  if (blocksIn(step.at(-1)).some(isCall) && !step.flatMap(blocksIn).some(isThought)) {
    dropThinking(draft);
  }
}

/** Returns the place behind the last words of the user that follow no results: Claude takes neighbouring turns of the user as one. */
function startOfStep(draft: Draft): number {
  let start = 0;
  let hasResults = false;
  for (const [at, turn] of draft.entries("messages").entries()) {
    const role = objectOf(turn)?.["role"];
    if (role === "assistant") hasResults = false;
    else if (blocksIn(turn).some(isResult)) hasResults = true;
    if (role === "user" && !hasResults) start = at + 1;
  }
  return start;
}

function blocksIn(turn: unknown): readonly unknown[] {
  return arrayOf(objectOf(turn)?.["content"]);
}

function isCall(block: unknown): boolean {
  return objectOf(block)?.["type"] === "tool_use";
}

function isResult(block: unknown): boolean {
  return objectOf(block)?.["type"] === "tool_result";
}

/** Drops thinking, with that of the running step and the edits of earlier thinking, which the provider refuses without it. */
function dropThinking(draft: Draft): void {
  draft.drop("thinking");
  leaveThoughts(draft);
  const context = draft.object("context_management");
  const edits = arrayOf(context?.["edits"]);
  const kept = edits.filter((edit) => objectOf(edit)?.["type"] !== CLEAR_THINKING);
  if (kept.length === edits.length) return;
  if (kept.length === 0) draft.remove("context_management");
  else draft.set("context_management", { ...context, edits: kept });
}

/** Leaves thinking out of the running step of a Claude that does not think in this call: those before 5 refuse it there. */
function leaveThinkingOff(draft: Draft): void {
  const { maker, thinking_default: byDefault } = draft.profile;
  const type = draft.object("thinking")?.["type"];
  if (maker !== "anthropic" || byDefault === "on") return;
  if (type !== "enabled" && type !== "adaptive") leaveThoughts(draft);
}

function leaveThoughts(draft: Draft): void {
  const { types } = draft.unread ?? {};
  if (types && !types.some((type) => THOUGHTS.has(type))) return;
  leaveBlocks(draft, isThought, startOfStep(draft));
}

function editEffort(draft: Draft): void {
  const config = draft.object("output_config");
  const effort = effortOf(draft);
  if (!config || effort === undefined) return;
  if (draft.profile.thinking === "budget" || draft.profile.thinking === "none") {
    removePart(draft, "output_config", "effort");
    draft.nameDropped("output_config.effort");
    return;
  }
  if (draft.profile.effort_levels === undefined && !draft.isTranslated) return;
  const level = clampEffort(effort, levelsOf(draft));
  if (level !== effort) draft.set("output_config", { ...config, effort: level });
}

/** Returns the levels that the model accepts here: fewer if thinking is off. */
function levelsOf(draft: Draft): readonly EffortLevel[] {
  const { effort_levels: stated, thinking_off_effort_max: most } = draft.profile;
  const levels = stated === undefined && !draft.isTranslated ? EFFORT_LEVELS : ascending(stated);
  const isOff = OFF.includes(String(draft.object("thinking")?.["type"]));
  const rank = most && isOff ? EFFORT_LEVELS.indexOf(most) : EFFORT_LEVELS.length;
  return EFFORT_LEVELS.filter((level, at) => at <= rank && levels.includes(level));
}

/** Drops the sampling that the provider refuses beside thinking. A client of Messages knows the rule. */
function fitSampling(draft: Draft): void {
  const type = draft.object("thinking")?.["type"];
  if (type !== "enabled" && type !== "adaptive") return;
  // 1 is the default, so the reply is the same without it.
  if (draft.body["temperature"] === 1) draft.remove("temperature");
  for (const name of ["temperature", "top_k"]) draft.drop(name);
  if (Number(draft.body["top_p"]) < THINKING_TOP_P_MIN) draft.drop("top_p");
}

function editSampling(draft: Draft): void {
  const { sampling = draft.isTranslated ? "one" : undefined } = draft.profile;
  if (sampling === "none") {
    for (const name of ["temperature", "top_p", "top_k"]) {
      // 1 is the default, so the reply is the same without it.
      if (draft.body[name] === 1) draft.remove(name);
      else draft.drop(name);
    }
  } else if (sampling === "one" && draft.has("temperature") && draft.has("top_p")) {
    const { temperature, top_p: topP } = draft.body;
    // If the temperature has its default value, the client probably wanted to set `top_p`.
    draft.drop(temperature === 1 && topP !== 1 ? "temperature" : "top_p");
  }
}

function refusePrefill(draft: Draft): void {
  if (draft.profile.prefill !== false || draft.unread?.lastRole === "user") return;
  const turns = draft.entries("messages").map(objectOf);
  const last = turns.findLast((turn) => turn?.["role"] !== "system");
  if (last?.["role"] !== "assistant" || isPaused(last)) return;
  draft.refuse("messages", "this model continues no reply: end with a user turn");
}

/**
 * Returns true for a turn that the provider has paused (`pause_turn`, or after a compaction): the
 * client sends it back as it came, and the provider continues it.
 */
function isPaused(turn: JsonObject): boolean {
  return arrayOf(turn["content"]).some((block) => {
    const type = String(objectOf(block)?.["type"]);
    return PAUSED.includes(type) || type.endsWith("_tool_result");
  });
}
