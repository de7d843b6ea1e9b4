import type { MicroVnd } from "../catalogue/amount.ts";
import type { StoredEntry } from "./outbox-entry.ts";
import { callOf } from "./unreadable.ts";

/** A hold, or a posted call that is not in the ledger yet: it must end, so its age matters. */
export interface StandingCall {
  readonly kind: "hold" | "post";
  readonly callId: string;
  /** The reference of a movement that takes money away; null for a call. */
  readonly reference: string | null;
  /** The account; empty if the entry of a post cannot be read. */
  readonly accountId: string;
  /** The amount held or charged. */
  readonly microVnd: MicroVnd;
  /** When the money was held, or the call posted, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
  /** The gateway process that has it. */
  readonly process: string;
}

export function standingHold(hold: Omit<StandingCall, "kind" | "reference">): StandingCall {
  return { kind: "hold", reference: null, ...hold };
}

export function standingPost(entry: StoredEntry, sinceMs: number, process: string): StandingCall {
  const { callId, accountId } = callOf(entry);
  const microVnd = entry.chargedMicroVnd;
  const reference = "debit" in entry ? entry.debit.reference : null;
  return { kind: "post", callId, reference, accountId, microVnd, sinceMs, process };
}

/** Returns the listing of a post that the hold store does not have yet. Its age counts from the end of its call. */
export function unsentPost(
  call: { callId: string; accountId: string; at: number; latencyMs?: number },
  microVnd: MicroVnd,
  process: string,
): StandingCall {
  const { callId, accountId, at, latencyMs = 0 } = call;
  return {
    kind: "post",
    callId,
    reference: null,
    accountId,
    microVnd,
    sinceMs: at + latencyMs,
    process,
  };
}
