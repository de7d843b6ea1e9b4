import type { MicroVnd } from "../catalogue/amount.ts";
import { isMovementHold, movementOf } from "./movement-hold.ts";
import type { StoredEntry } from "./outbox-entry.ts";
import type { StandingCall } from "./standing-call.ts";
import { callOf } from "./unreadable.ts";

export function standingHold(hold: Omit<StandingCall, "kind" | "reference">): StandingCall {
  const { callId, accountId, microVnd } = hold;
  const isMovement = isMovementHold(callId);
  const held = { callId, accountId, amountMicroVnd: microVnd };
  return { kind: "hold", reference: isMovement ? movementOf(held).reference : null, ...hold };
}

export function standingPost(entry: StoredEntry, sinceMs: number, process: string): StandingCall {
  const { callId, accountId } = callOf(entry);
  const microVnd = entry.chargedMicroVnd;
  return { kind: "post", callId, reference: null, accountId, microVnd, sinceMs, process };
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
