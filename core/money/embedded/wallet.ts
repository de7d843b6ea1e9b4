import { type MicroVnd, requireMicroVnd } from "../../catalogue/amount.ts";
import {
  type Balances,
  type LimitSnapshot,
  type Short,
  WALLET_LIMIT,
  type WalletSnapshot,
} from "../hold-store.ts";
import { Limit, limitsOf } from "./limit.ts";

/** A wallet that is loaded into the embedded hold store. Each function below moves money in it by one step. */
export interface Wallet {
  readonly accountId: string;
  availableMicroVnd: MicroVnd;
  heldMicroVnd: MicroVnd;
  uncommittedMicroVnd: MicroVnd;
  creditVersion: number;
  creditedMicroVnd: bigint;
  /** The amount available at the last look, and when a look first found it: see `isIdle`. */
  idle: { readonly availableMicroVnd: MicroVnd; readonly sinceMs: number } | undefined;
  /** Limits by name. Undefined for a wallet that never had one: most have none. */
  limits: Map<string, Limit> | undefined;
}

export interface Hold {
  readonly wallet: Wallet;
  /** Limits that the hold counts against, in addition to the wallet. */
  readonly limits: readonly Limit[];
  amountMicroVnd: MicroVnd;
  /** When the hold was taken, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
}

/** One list for all holds without a limit, so that nothing is allocated for them. */
const NO_LIMITS: readonly Limit[] = [];

export function walletOf(snapshot: WalletSnapshot): Wallet {
  const availableMicroVnd = Number(snapshot.balanceMicroVnd);
  requireMicroVnd(availableMicroVnd);
  return {
    accountId: snapshot.accountId,
    availableMicroVnd,
    heldMicroVnd: 0,
    uncommittedMicroVnd: 0,
    creditVersion: snapshot.creditVersion,
    creditedMicroVnd: snapshot.creditedMicroVnd + (snapshot.uncoveredMicroVnd ?? 0n),
    idle: undefined,
    limits: limitsOf(snapshot.limits),
  };
}

/** Sets a limit, or changes its total if the version is newer. */
export function setLimit(wallet: Wallet, snapshot: LimitSnapshot): void {
  const limits = wallet.limits ?? new Map<string, Limit>();
  const known = limits.get(snapshot.name);
  if (known === undefined) limits.set(snapshot.name, new Limit(snapshot));
  else known.change(snapshot);
  wallet.limits = limits;
}

/** Returns the limits of these names, or the first name that is not set. */
export function findLimits(
  wallet: Wallet,
  names: readonly string[] | undefined,
): readonly Limit[] | string {
  if (names === undefined || names.length === 0) return NO_LIMITS;
  const found: Limit[] = [];
  for (const name of names) {
    const limit = wallet.limits?.get(name);
    if (limit === undefined) return name;
    found.push(limit);
  }
  return found;
}

/** Returns the limits of a post without a hold; skips names that are not set. */
export function limitsOfPost(
  wallet: Wallet | undefined,
  names: readonly string[] | null,
): readonly Limit[] {
  if (names === null || wallet?.limits === undefined) return NO_LIMITS;
  return names.flatMap((name) => wallet.limits?.get(name) ?? []);
}

/** Holds `amount`, or what wallet and limits afford if that is at least `floor`. Returns undefined if it is less. */
export function takeHold(
  wallet: Wallet,
  limits: readonly Limit[],
  amount: MicroVnd,
  floor: MicroVnd,
  sinceMs: number,
): Hold | undefined {
  const hold = { wallet, limits, amountMicroVnd: 0, sinceMs };
  return raiseHold(hold, amount, floor) ? hold : undefined;
}

/** Raises a hold to `total`, or to what wallet and limits afford if that is at least `floor`; else returns false. */
export function raiseHold(hold: Hold, total: MicroVnd, floor: MicroVnd): boolean {
  requireMicroVnd(total);
  requireMicroVnd(floor);
  const { wallet, limits } = hold;
  let available = wallet.availableMicroVnd;
  for (const limit of limits) available = Math.min(available, limit.availableMicroVnd);
  const most = hold.amountMicroVnd + available;
  if (most < total && most < floor) return false;
  const raised = Math.min(most, total);
  // A limit below zero affords less than the call already holds. A hold is never lowered.
  const more = Math.max(0, raised - hold.amountMicroVnd);
  wallet.availableMicroVnd -= more;
  wallet.heldMicroVnd += more;
  for (const limit of limits) limit.take(more);
  hold.amountMicroVnd += more;
  return true;
}

/** Returns the limit that affords least; the wallet if all afford the same. */
export function shortOf(wallet: Wallet, limits: readonly Limit[]): Short {
  let limit = WALLET_LIMIT;
  let { availableMicroVnd } = wallet;
  for (const each of limits) {
    if (each.availableMicroVnd >= availableMicroVnd) continue;
    limit = each.name;
    availableMicroVnd = each.availableMicroVnd;
  }
  return { kind: "short", limit, availableMicroVnd };
}

export function giveBackHold({ wallet, limits, amountMicroVnd }: Hold): void {
  wallet.availableMicroVnd += amountMicroVnd;
  wallet.heldMicroVnd -= amountMicroVnd;
  for (const limit of limits) limit.take(-amountMicroVnd);
}

/** Returns how much of `cost` can be charged: at most the hold and what is available. */
export function chargeable(wallet: Wallet, cost: MicroVnd, held: MicroVnd): MicroVnd {
  return Math.min(cost, held + wallet.availableMicroVnd);
}

export function charge(
  wallet: Wallet,
  limits: readonly Limit[],
  charged: MicroVnd,
  held: MicroVnd,
): void {
  wallet.availableMicroVnd += held - charged;
  wallet.heldMicroVnd -= held;
  wallet.uncommittedMicroVnd += charged;
  for (const limit of limits) limit.charge(charged, held);
}

/** Takes a charge that is in the ledger out of uncommitted, of the wallet and of the limits that the post named. */
export function acknowledge(
  wallet: Wallet,
  names: readonly string[] | null,
  charged: MicroVnd,
): void {
  wallet.uncommittedMicroVnd -= charged;
  for (const limit of limitsOfPost(wallet, names)) limit.acknowledge(charged);
}

/** Undoes a charge. Valid only if nothing changed the wallet since. */
export function takeBackCharge(
  wallet: Wallet,
  limits: readonly Limit[],
  charged: MicroVnd,
  held: MicroVnd,
): void {
  charge(wallet, limits, -charged, -held);
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
