import { EFFORT_LEVELS, objectOf } from "../../../core/plugin/index.ts";
import { clampEffort } from "../profile.ts";
import { unmarked } from "../state/organisation.ts";
import { isPackedReasoning } from "../state/reasoning.ts";
import type { Draft } from "./draft.ts";
import { editImages } from "./media.ts";
import { editResponsesSchemas } from "./schemas.ts";

/** OpenAI's encrypted reasoning is a Fernet token. Source: duolahypercho/codex-router#30. */
const OPENAI_START = "gAAAAA";

/** Edits a Responses request to what its model takes. */
export function editResponses(draft: Draft): void {
  editImages(draft, "input");
  fitEncrypted(draft);
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
 * Leaves out encrypted reasoning of another maker or organisation, which the provider cannot decrypt: a conversation
 * that changed its model would end with a 400. Only the organisation that made a compaction gets it.
 */
function fitEncrypted(draft: Draft): void {
  const { maker, organisation } = draft.profile;
  if (draft.unread && !draft.unread.types.includes("reasoning")) return;
  const fit = (entry: unknown): unknown => {
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

function isForeign(state: string, maker: string | undefined): boolean {
  if (maker === undefined) return false;
  return isPackedReasoning(state) || state.startsWith(OPENAI_START) !== (maker === "openai");
}
