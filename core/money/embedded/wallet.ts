import { type MicroVnd, requireMicroVnd } from "../../catalogue/amount.ts";
import { type Balances, type Short, WALLET, type WalletSnapshot } from "../hold-store.ts";

/**
 * A wallet, or a purse, that is loaded into the embedded hold store. A purse is a wallet that begins at 0 and may go below it.
 * Each function below moves money in it by one step.
 */
export interface Wallet {
  readonly accountId: string;
  /** Under which the store has it: see `walletKey`. */
  readonly key: string;
  availableMicroVnd: MicroVnd;
  heldMicroVnd: MicroVnd;
  uncommittedMicroVnd: MicroVnd;
  creditVersion: number;
  creditedMicroVnd: bigint;
  /** The amount available at the last look, and when a look first found it: see `isIdle`. */
  idle: { readonly availableMicroVnd: MicroVnd; readonly sinceMs: number } | undefined;
}

export interface Hold {
  readonly wallet: Wallet;
  /** Purses that the hold counts against, in addition to the wallet. */
  readonly purses: readonly HeldPurse[];
  amountMicroVnd: MicroVnd;
  /** When the hold was taken, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
}

/** One list for all calls without a purse, so that nothing is allocated for them. */
export const NO_PURSES: readonly never[] = [];

/** A purse, and the limit that a hold has of it. */
export interface HeldPurse {
  readonly name: string;
  readonly purse: Wallet;
  readonly limitMicroVnd: MicroVnd;
}

export function walletOf(snapshot: WalletSnapshot, key = snapshot.accountId): Wallet {
  const availableMicroVnd = Number(snapshot.balanceMicroVnd);
  // A purse is below zero.
  requireMicroVnd(Math.abs(availableMicroVnd));
  return {
    accountId: snapshot.accountId,
    key,
    availableMicroVnd,
    heldMicroVnd: 0,
    uncommittedMicroVnd: 0,
    creditVersion: snapshot.creditVersion,
    creditedMicroVnd: snapshot.creditedMicroVnd + (snapshot.uncoveredMicroVnd ?? 0n),
    idle: undefined,
  };
}

/** Holds `amount`, or what wallet and purses leave if that is at least `floor`. Returns undefined if it is less. */
export function takeHold(
  wallet: Wallet,
  purses: readonly HeldPurse[],
  amount: MicroVnd,
  floor: MicroVnd,
  sinceMs: number,
): Hold | undefined {
  const hold = { wallet, purses, amountMicroVnd: 0, sinceMs };
  return raiseHold(hold, amount, floor) ? hold : undefined;
}

/** Raises a hold to `total`, or to what wallet and purses leave if that is at least `floor`; else returns false. */
export function raiseHold(hold: Hold, total: MicroVnd, floor: MicroVnd): boolean {
  requireMicroVnd(total);
  requireMicroVnd(floor);
  const { wallet, purses } = hold;
  let available = wallet.availableMicroVnd;
  for (const purse of purses) available = Math.min(available, leftOf(purse));
  const most = hold.amountMicroVnd + available;
  if (most < total && most < floor) return false;
  const raised = Math.min(most, total);
  // A purse beyond its limit affords less than the call already holds. A hold is never lowered.
  const more = Math.max(0, raised - hold.amountMicroVnd);
  take(hold, more);
  hold.amountMicroVnd += more;
  return true;
}

/** Returns what the hold's limit leaves of a purse. Below zero if it was lowered, or charged beyond its holds. */
function leftOf({ purse, limitMicroVnd }: HeldPurse): MicroVnd {
  return limitMicroVnd + purse.availableMicroVnd;
}

/** Moves an amount from available to held; a negative amount moves it back. */
function take({ wallet, purses }: Hold, amount: MicroVnd): void {
  takeFrom(wallet, amount);
  for (const { purse } of purses) takeFrom(purse, amount);
}

function takeFrom(wallet: Wallet, amount: MicroVnd): void {
  wallet.availableMicroVnd -= amount;
  wallet.heldMicroVnd += amount;
}

/** Returns the purse that affords least; the wallet if all afford the same. */
export function shortOf(wallet: Wallet, purses: readonly HeldPurse[]): Short {
  let purse = WALLET;
  let { availableMicroVnd } = wallet;
  for (const each of purses) {
    if (leftOf(each) >= availableMicroVnd) continue;
    purse = each.name;
    availableMicroVnd = leftOf(each);
  }
  return { kind: "short", purse, availableMicroVnd };
}

export function giveBackHold(hold: Hold): void {
  take(hold, -hold.amountMicroVnd);
}

/** Returns how much of `cost` can be charged: at most the hold and what is available. */
export function chargeable(wallet: Wallet, cost: MicroVnd, held: MicroVnd): MicroVnd {
  return Math.min(cost, held + wallet.availableMicroVnd);
}

/** Replaces `held` by a charge, of a wallet and of these purses of it. */
export function charge(
  wallet: Wallet,
  purses: readonly Wallet[],
  charged: MicroVnd,
  held: MicroVnd,
): void {
  wallet.availableMicroVnd += held - charged;
  wallet.heldMicroVnd -= held;
  wallet.uncommittedMicroVnd += charged;
  for (const purse of purses) charge(purse, NO_PURSES, charged, held);
}

/** Returns true if nothing was charged or credited for `idleMs`, as far as the looks at this wallet can tell. */
export function isIdle(wallet: Wallet, nowMs: number, idleMs: number): boolean {
  const { availableMicroVnd, idle } = wallet;
  if (wallet.heldMicroVnd !== 0 || wallet.uncommittedMicroVnd !== 0) return false;
  if (idle?.availableMicroVnd === availableMicroVnd) return nowMs - idle.sinceMs >= idleMs;
  wallet.idle = { availableMicroVnd, sinceMs: nowMs };
  return false;
}

export function balancesOf(wallet: Wallet): Balances {
  return {
    availableMicroVnd: wallet.availableMicroVnd,
    heldMicroVnd: wallet.heldMicroVnd,
    uncommittedMicroVnd: wallet.uncommittedMicroVnd,
  };
}
