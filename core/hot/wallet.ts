import { MICRO_VND_MAX, type MicroVnd } from "../money.ts";
import type { Balances } from "./hot.ts";

/** A wallet that is open in the embedded hot store. */
export interface Wallet {
  readonly accountId: string;
  availableMicroVnd: MicroVnd;
  heldMicroVnd: MicroVnd;
  pendingMicroVnd: MicroVnd;
  creditVersion: number;
  creditedMicroVnd: bigint;
}

/** The amount, or what there is of it if that is at least `floor`; -1 where it is less. */
export function affordable(
  amount: MicroVnd,
  floor: MicroVnd,
  wallet: Wallet,
  held: MicroVnd,
): MicroVnd {
  requireMicroVnd(amount);
  requireMicroVnd(floor);
  const most = held + wallet.availableMicroVnd;
  if (most >= amount) return amount;
  return most >= floor ? most : -1;
}

/** Throws RangeError. */
export function requireMicroVnd(amount: MicroVnd): void {
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new RangeError(`not an amount of µđ between 0 and ${MICRO_VND_MAX}: ${amount}`);
  }
}

export function balancesOf(wallet: Wallet): Balances {
  return {
    availableMicroVnd: wallet.availableMicroVnd,
    heldMicroVnd: wallet.heldMicroVnd,
    pendingMicroVnd: wallet.pendingMicroVnd,
  };
}
