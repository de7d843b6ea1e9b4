import type { DebitEntry, Movement } from "../../core/money/outbox-entry.ts";
import { nameOf } from "../../core/money/unreadable.ts";

interface Wallet {
  balance: bigint;
  debited: bigint;
  creditVersion: number;
}

/**
 * Takes money away as `debit_wallet` does. `known`: this entry was taken before. `returned`: the hold store gives the money
 * back.
 */
export function takeDebit(
  entry: DebitEntry,
  movements: Map<string, Movement & { readonly debitEntry?: string }>,
  wallets: ReadonlyMap<string, Wallet>,
): "taken" | "known" | "returned" {
  const { debit } = entry;
  const name = nameOf(entry);
  const amountMicroVnd = -debit.amountMicroVnd;
  const earlier = movements.get(debit.reference);
  if (earlier !== undefined) return earlier.debitEntry === name ? "known" : "returned";
  const wallet = wallets.get(debit.accountId);
  if (wallet === undefined || wallet.balance < amountMicroVnd) return "returned";
  movements.set(debit.reference, { ...debit, debitEntry: name });
  wallet.balance -= amountMicroVnd;
  wallet.debited += amountMicroVnd;
  wallet.creditVersion += 1;
  return "taken";
}
