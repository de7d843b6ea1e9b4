import { EFFORT_LEVELS, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { clampEffort } from "../profile.ts";
import { unmarked } from "../state/organisation.ts";
import { isOfOpenAi, isPackedReasoning } from "../state/reasoning.ts";
import type { Draft } from "./draft.ts";
import { editImages } from "./media.ts";
import { editResponsesSchemas } from "./schemas.ts";

/** Edits a Responses request to what its model takes. */
export function editResponses(draft: Draft): void {
  editImages(draft, "input");
  fitReasoning(draft);
  if (draft.profile.maker === "openai") readPlainMessages(draft);
  if (draft.profile.maker === "xai") leaveOutForXai(draft);
  editResponsesSchemas(draft);
  const { sampling, effort_levels: levels, thinking_off: off } = draft.profile;
  if (sampling === "fixed") {
    for (const name of ["temperature", "top_p"]) {
      if (draft.body[name] === 1) draft.remove(name);
      else draft.drop(name);
    }
  }
  const reasoning = draft.object("reasoning");
  const effort = reasoning?.["effort"];
  if (!reasoning || levels === undefined || typeof effort !== "string") return;
  const known = EFFORT_LEVELS.filter((level) => levels.includes(level));
  if (effort === "none") {
    if (levels.includes("none")) return;
    if (off === "refuse") draft.refuse("reasoning", "this model always thinks: send a level");
    else draft.set("reasoning", { ...reasoning, effort: known[0] });
    return;
  }
  const level = EFFORT_LEVELS.find((one) => one === effort);
  if (level === undefined || known.includes(level)) return;
  draft.set("reasoning", { ...reasoning, effort: clampEffort(level, known) });
}

/** Leaves out what only OpenAI takes, and xAI refuses: each is a 400. */
function leaveOutForXai(draft: Draft): void {
  // router-for-me/CLIProxyAPI#5648
  draft.drop("metadata");
  // Codex says so for its web search: lidge-jun/opencodex#2240
  draft.editEntries("tools", (tool) => {
    const { external_web_access, ...rest } = tool;
    return external_web_access === undefined ? tool : rest;
  });
  // An agent without tools, as for a summary, still says that it leaves the choice to the model: router-for-me/CLIProxyAPI#3704
  const isFree = draft.body["tool_choice"] === "auto" || draft.body["tool_choice"] === "none";
  if (isFree && draft.entries("tools").length === 0) draft.remove("tool_choice");
}

/**
 * Agents of Codex send each other text that OpenAI has encrypted; if another maker's model writes it, it stays as it is under
 * that name, and OpenAI refuses what it cannot decrypt: openai/codex#33267.
 */
function readPlainMessages(draft: Draft): void {
  // The facts about a conversation that is not read are of one without such parts.
  if (draft.unread) return;
  draft.editEntries("input", (item) => {
    const name = item["type"] === "agent_message" ? "content" : "output";
    const parts = item[name];
    if (!Array.isArray(parts) || !parts.some(isPlain)) return item;
    const asText = (part: unknown) =>
      isPlain(part) ? { type: "input_text", text: part["encrypted_content"] } : part;
    return { ...item, [name]: parts.map(asText) };
  });
}

function isPlain(part: unknown): part is JsonObject {
  const { type, encrypted_content: content } = objectOf(part) ?? {};
  return type === "encrypted_content" && typeof content === "string" && !isOfOpenAi(content);
}

/**
 * Leaves out encrypted reasoning of another maker or organisation, which the provider cannot decrypt: a conversation
 * that changed its model would end with a 400. Only the organisation that made a compaction gets it. Codex sends null for
 * reasoning that is not shown, which only OpenAI takes: Wei-Shaw/sub2api#4237.
 */
function fitReasoning(draft: Draft): void {
  const { maker, organisation } = draft.profile;
  if (draft.unread && !draft.unread.types.includes("reasoning")) return;
  const fit = (given: unknown): unknown => {
    const entry = maker === undefined || maker === "openai" ? given : withoutNull(given);
    const item = objectOf(entry);
    const state = item?.["encrypted_content"];
    if (typeof state !== "string") return entry;
    const own = unmarked(state, organisation);
    if (item?.["type"] !== "reasoning") {
      if (own === undefined) draft.refuse("input", COMPACTED_ELSEWHERE);
    } else if (own === undefined || isForeign(own, maker)) return undefined;
    return own === undefined || own === state ? entry : { ...item, encrypted_content: own };
  };
  const items = draft.entries("input");
  const fitted = items.map(fit);
  if (fitted.some((item, at) => item !== items[at])) {
    draft.set(
      "input",
      fitted.filter((item) => item !== undefined),
    );
  }
}

const COMPACTED_ELSEWHERE =
  "only the provider that made this compaction can read it: send the conversation instead, or begin a new one";

function withoutNull(entry: unknown): unknown {
  const item = objectOf(entry);
  if (item?.["type"] !== "reasoning" || item["content"] !== null) return entry;
  const { content: _, ...rest } = item;
  return rest;
}

function isForeign(state: string, maker: string | undefined): boolean {
  if (maker === undefined) return false;
  return isPackedReasoning(state) || isOfOpenAi(state) !== (maker === "openai");
}
