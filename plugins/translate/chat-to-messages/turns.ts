import type { MessagesProfile } from "../../../core/contract/index.ts";
import type { MessagesBlock, MessagesText, MessagesTurn } from "../types.ts";

/** Turns that a Messages upstream takes, and the system texts that had to leave them. */
interface Arranged {
  readonly turns: MessagesTurn[];
  readonly hoisted: MessagesText[];
}

/**
 * Arranges the entries of a conversation as a Messages upstream wants them: the user begins, user and
 * assistant alternate, and a system entry stands only where the model accepts one.
 */
export function arrange(entries: readonly MessagesTurn[], profile: MessagesProfile): Arranged {
  const turns: MessagesTurn[] = [];
  const hoisted: MessagesText[] = [];
  for (const [at, entry] of entries.entries()) {
    if (entry.role !== "system") append(turns, entry);
    else if (staysInPlace(turns.at(-1), entries[at + 1], profile)) turns.push(entry);
    else for (const block of entry.content) if (block.type === "text") hoisted.push(block);
  }
  const first = turns[0];
  if (first?.role === "assistant") turns.unshift(said("."));
  endTurn(turns, profile);
  return { turns, hoisted };
}

/** A system entry may stand at the end or before an answer, and must not hide two turns of one role. */
function staysInPlace(
  before: MessagesTurn | undefined,
  after: MessagesTurn | undefined,
  profile: MessagesProfile,
): boolean {
  if (profile.mid_system !== "inline" || before === undefined) return false;
  if (before.role === "user") return after === undefined || after.role === "assistant";
  return before.role === "assistant" && after === undefined && profile.prefill;
}

/** A last turn of the assistant is what the model goes on from, if it can. */
function endTurn(turns: MessagesTurn[], profile: MessagesProfile): void {
  const last = turns.findLast((turn) => turn.role !== "system");
  if (last?.role !== "assistant") return;
  const text = last.content.at(-1);
  // The upstream refuses white space at the very end. A blank text never gets this far.
  if (text?.type === "text") text.text = text.text.trimEnd();
  // To drop the turn would take a real answer out of the conversation, so the user says the least there is.
  if (!profile.prefill) turns.push(said("Continue."));
}

function append(turns: MessagesTurn[], turn: MessagesTurn): void {
  const last = turns.at(-1);
  if (last?.role !== turn.role) turns.push(turn);
  else for (const block of turn.content) last.content.push(block);
}

function said(text: string): MessagesTurn {
  const content: MessagesBlock[] = [{ type: "text", text }];
  return { role: "user", content };
}
