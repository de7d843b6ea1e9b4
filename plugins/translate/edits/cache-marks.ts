import { arrayOf, isObject, objectOf } from "../../../core/plugin/index.ts";
import { isBlank } from "../arguments.ts";
import type { Draft } from "./draft.ts";

/** Cache marks that Claude takes in a request. Claude docs: prompt caching. */
const MARKS_MAX = 4;
/** The turns of the user that get a mark: one finds what the call before has written, one writes what is new. */
const TURNS_MARKED = 2;

/**
 * Fits the cache marks of a translated request. Clients of other protocols are used to caches that need none, so a
 * conversation without marks gets some: Claude would read it at the full price with each step of an agent.
 */
export function editCacheMarks(draft: Draft): void {
  const turns = draft.entries("messages").map((turn) => arrayOf(objectOf(turn)?.["content"]));
  const blocks = [draft.entries("tools"), arrayOf(draft.body["system"]), ...turns].flat();
  const marked = blocks.filter(isMarked).length;
  if (marked > MARKS_MAX) keepLast(draft, marked - MARKS_MAX);
  const isOwn = marked > 0 || blocks.some((block) => contentOf(block).some(isMarked));
  if (!isOwn && draft.profile.cache_control !== "drop") markConversation(draft);
}

/** Keeps the last cache marks, which OpenAI counts too. */
function keepLast(draft: Draft, beyond: number): void {
  let left = beyond;
  const unmarked = (block: unknown): unknown => {
    if (!isObject(block) || !isMarked(block) || --left < 0) return block;
    const { cache_control: _, ...rest } = block;
    return rest;
  };
  draft.editEntries("tools", (tool) => ({ ...objectOf(unmarked(tool)) }));
  if (Array.isArray(draft.body["system"])) draft.set("system", draft.body["system"].map(unmarked));
  draft.editEntries("messages", (turn) =>
    Array.isArray(turn["content"]) ? { ...turn, content: turn["content"].map(unmarked) } : turn,
  );
}

/** Marks the end of what each call repeats, and the last turns. A single question is not likely to be repeated. */
function markConversation(draft: Draft): void {
  const turns = draft.entries("messages").map(objectOf);
  const tools = draft.entries("tools");
  const goesOn = turns.some((turn) => turn?.["role"] === "assistant");
  if (tools.length === 0 && !goesOn) return;
  const system = withLastMarked(arrayOf(draft.body["system"]));
  if (system) draft.set("system", system);
  else if (tools.length > 0) draft.set("tools", withLastMarked(tools));
  const ofUser = turns.flatMap((turn, at) => (turn?.["role"] === "user" ? [at] : []));
  const last = new Set(ofUser.slice(-TURNS_MARKED));
  draft.editEntries("messages", (turn, at) => {
    const content = last.has(at) ? withLastMarked(contentOf(turn)) : undefined;
    return content ? { ...turn, content } : turn;
  });
}

/** Returns the blocks with a mark on the last; undefined if there is none, or none that Claude caches. */
function withLastMarked(blocks: readonly unknown[]): unknown[] | undefined {
  const last = objectOf(blocks.at(-1));
  if (!last || (last["type"] === "text" && isBlank(String(last["text"])))) return undefined;
  return [...blocks.slice(0, -1), { ...last, cache_control: { type: "ephemeral" } }];
}

function isMarked(block: unknown): boolean {
  return objectOf(block)?.["cache_control"] !== undefined;
}

function contentOf(entry: unknown): readonly unknown[] {
  return arrayOf(objectOf(entry)?.["content"]);
}
