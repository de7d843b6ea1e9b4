import type { Profile } from "../../../core/plugin/index.ts";
import type { MessagesBlock, MessagesText, MessagesTurn } from "../types.ts";

/** Turns that a Messages upstream accepts, and the system texts that were taken out of them. */
interface Arranged {
  readonly turns: MessagesTurn[];
  readonly hoisted: MessagesText[];
}

/**
 * Arranges a conversation as a Messages upstream requires: the user begins, user and assistant
 * alternate, and system entries are only at positions that the model accepts.
 */
export function arrange(entries: readonly MessagesTurn[], profile: Profile): Arranged {
  const turns: MessagesTurn[] = [];
  const hoisted: MessagesText[] = [];
  for (const [at, entry] of entries.entries()) {
    if (entry.role !== "system") append(turns, entry);
    else if (staysInPlace(turns.at(-1), entries[at + 1], profile)) turns.push(entry);
    else for (const block of entry.content) if (block.type === "text") hoisted.push(block);
  }
  const first = turns[0];
  if (first?.role === "assistant") turns.unshift(userTurn("."));
  endTurn(turns, profile);
  return { turns, hoisted };
}

/**
 * Returns true if a system entry may stay: at the end or before a reply, not between turns of one
 * role.
 */
function staysInPlace(
  before: MessagesTurn | undefined,
  after: MessagesTurn | undefined,
  profile: Profile,
): boolean {
  // Few models accept a system message inside the conversation.
  if (profile.mid_system !== "inline" || before === undefined) return false;
  if (before.role === "user") return after === undefined || after.role === "assistant";
  return before.role === "assistant" && after === undefined && profile.prefill !== false;
}

/** Prepares a last turn of the assistant, which the model continues if it supports prefill. */
function endTurn(turns: MessagesTurn[], profile: Profile): void {
  const last = turns.findLast((turn) => turn.role !== "system");
  if (last?.role !== "assistant") return;
  const text = last.content.at(-1);
  // The upstream refuses white space at the end. Blank texts were removed before.
  if (text?.type === "text") text.text = text.text.trimEnd();
  // Dropping the turn would remove a real reply from the conversation, so add a minimal user turn.
  if (profile.prefill === false) turns.push(userTurn("Continue."));
}

function append(turns: MessagesTurn[], turn: MessagesTurn): void {
  const last = turns.at(-1);
  if (last?.role !== turn.role) turns.push(turn);
  else for (const block of turn.content) last.content.push(block);
}

function userTurn(text: string): MessagesTurn {
  const content: MessagesBlock[] = [{ type: "text", text }];
  return { role: "user", content };
}
