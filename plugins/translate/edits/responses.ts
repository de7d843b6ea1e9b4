import { EFFORT_LEVELS, objectOf } from "../../../core/plugin/index.ts";
import { clampEffort } from "../profile.ts";
import { isPackedReasoning } from "../state/reasoning.ts";
import type { Draft } from "./draft.ts";
import { editDocuments } from "./media.ts";
import { editResponsesSchemas } from "./schemas.ts";

/** OpenAI's encrypted reasoning is a Fernet token. Source: duolahypercho/codex-router#30. */
const OPENAI_START = "gAAAAA";

/** Edits a Responses request to what its model takes. */
export function editResponses(draft: Draft): void {
  editDocuments(draft, "input");
  leaveForeignReasoning(draft);
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

/**
 * Leaves out encrypted reasoning of another maker, which the provider cannot decrypt: a conversation
 * that changed its model would end with a 400.
 */
function leaveForeignReasoning(draft: Draft): void {
  const { maker } = draft.profile;
  if (maker === undefined) return;
  if (draft.unread && !draft.unread.types.includes("reasoning")) return;
  const isForeign = (entry: unknown): boolean => {
    const item = objectOf(entry);
    const state = item?.["encrypted_content"];
    if (item?.["type"] !== "reasoning" || typeof state !== "string") return false;
    if (isPackedReasoning(state)) return true;
    return state.startsWith(OPENAI_START) !== (maker === "openai");
  };
  const items = draft.entries("input");
  if (!items.some(isForeign)) return;
  draft.set(
    "input",
    items.filter((item) => !isForeign(item)),
  );
}
