import type { MicroVnd } from "../catalogue/amount.ts";
import type { Credit } from "./ledger.ts";

/** The hold of a movement that takes money away, as the hold store lists it. */
export interface MovementHold {
  readonly callId: string;
  readonly accountId: string;
  readonly amountMicroVnd: MicroVnd;
}

const PREFIX = "movement:";
const NAMED = /^movement:(topup|adjustment):(\d+):([^:]+):(.*)$/s;

/**
 * Returns the call id under which a movement holds the money that it takes away. It names the whole movement: two
 * accounts, or two amounts, never share a hold. Any process can look the movement up in the ledger by it.
 */
export function movementHoldId(movement: Credit): string {
  const { kind, amountMicroVnd, accountId, reference } = movement;
  return `${PREFIX}${kind}:${-amountMicroVnd}:${accountId}:${reference}`;
}

export function isMovementHold(callId: string): boolean {
  return callId.startsWith(PREFIX);
}

/** Returns the movement that a hold belongs to, without its reason. */
export function movementOf({ callId }: MovementHold): Credit {
  const [, kind, amount = "", accountId = "", reference = ""] = NAMED.exec(callId) ?? [];
  if (kind !== "topup" && kind !== "adjustment") {
    throw new Error(`${callId} is not the name of a movement's hold`);
  }
  return { kind, accountId, amountMicroVnd: -BigInt(amount), reference, reason: null };
}
