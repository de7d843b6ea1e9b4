import { type MicroVnd, requireMicroVnd } from "../../contract/amount.ts";
import type { Balances } from "../../contract/hold-store.ts";

/** A wallet that is open in the embedded hot store. Each function below is one step of money in it. */
export interface Wallet {
  readonly accountId: string;
  availableMicroVnd: MicroVnd;
  heldMicroVnd: MicroVnd;
  pendingMicroVnd: MicroVnd;
  creditVersion: number;
  creditedMicroVnd: bigint;
}

export interface Hold {
  readonly wallet: Wallet;
  amountMicroVnd: MicroVnd;
}

/** Takes `amount`, or what there is of it if that is at least `floor`; undefined where it is less. */
export function takeHold(wallet: Wallet, amount: MicroVnd, floor: MicroVnd): Hold | undefined {
  const hold = { wallet, amountMicroVnd: 0 };
  return raiseHold(hold, amount, floor) ? hold : undefined;
}

/** Raises a hold to `total`, or to what there is of it if that is at least `floor`; false where it is less. */
export function raiseHold(hold: Hold, total: MicroVnd, floor: MicroVnd): boolean {
  requireMicroVnd(total);
  requireMicroVnd(floor);
  const { wallet } = hold;
  const most = hold.amountMicroVnd + wallet.availableMicroVnd;
  if (most < total && most < floor) return false;
  const raised = Math.min(most, total);
  wallet.availableMicroVnd -= raised - hold.amountMicroVnd;
  wallet.heldMicroVnd += raised - hold.amountMicroVnd;
  hold.amountMicroVnd = raised;
  return true;
}

export function giveBackHold({ wallet, amountMicroVnd }: Hold): void {
  wallet.availableMicroVnd += amountMicroVnd;
  wallet.heldMicroVnd -= amountMicroVnd;
}

/** What can be charged of `cost` in place of `held`. */
export function chargeable(wallet: Wallet, cost: MicroVnd, held: MicroVnd): MicroVnd {
  return Math.min(cost, held + wallet.availableMicroVnd);
}

export function charge(wallet: Wallet, charged: MicroVnd, held: MicroVnd): void {
  wallet.availableMicroVnd += held - charged;
  wallet.heldMicroVnd -= held;
  wallet.pendingMicroVnd += charged;
}

/** Undoes a charge, where nothing has come in between. */
export function takeBackCharge(wallet: Wallet, charged: MicroVnd, held: MicroVnd): void {
  charge(wallet, -charged, -held);
}

export function balancesOf(wallet: Wallet): Balances {
  return {
    availableMicroVnd: wallet.availableMicroVnd,
    heldMicroVnd: wallet.heldMicroVnd,
    pendingMicroVnd: wallet.pendingMicroVnd,
  };
}
