import { requireMicroVnd } from "../catalogue/amount.ts";
import { type HoldStore, type Purse, WALLET } from "./hold-store.ts";
import type { Ledger } from "./ledger.ts";
import { isName } from "./outbox-entry.ts";

/** Maximum number of purses of a call: each takes some µs of Redis at each step. */
const PURSES_MAX = 8;

/** The texts of lists of purses. The budgets of a key are one list for a day, so most calls find theirs here. */
const texts = new WeakMap<readonly Purse[], string>();

/** Throws RangeError unless a call can have these purses: each name once, 8 at most. */
export function requirePurses(purses: readonly Purse[]): void {
  pursesText(purses);
}

/** Returns purses as a hold in Redis has them: `|<name>=<limit>|<name>=<limit>`. Throws as `requirePurses` does. */
export function pursesText(purses: readonly Purse[]): string {
  const known = texts.get(purses);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const { name, limitMicroVnd } of purses) {
    if (!isName(name) || name === WALLET || names.has(name)) {
      throw new RangeError(
        `not the name of a purse: ${name}; use letters, digits and : . _ -, 100 at most, each name once`,
      );
    }
    names.add(name);
    requireMicroVnd(limitMicroVnd);
  }
  if (names.size > PURSES_MAX) {
    throw new RangeError(`${names.size} purses are too many; name ${PURSES_MAX} at most`);
  }
  const text = purses.map(({ name, limitMicroVnd }) => `|${name}=${limitMicroVnd}`).join("");
  texts.set(purses, text);
  return text;
}

/**
 * Loads a wallet, then these purses of it, unless they are loaded. Returns false if the ledger has no such account. Waits as
 * long as the loads do.
 */
export async function loadWithPurses(
  store: Pick<HoldStore, "load">,
  ledger: Pick<Ledger, "wallet" | "purse">,
  accountId: string,
  names: readonly string[],
): Promise<boolean> {
  if (!(await store.load(accountId, () => ledger.wallet(accountId)))) return false;
  const load = (name: string) => store.load(accountId, () => ledger.purse(accountId, name), name);
  await Promise.all(names.map(load));
  return true;
}

/** Returns the key of a wallet, or of a purse of it, in a hold store. */
export function walletKey(accountId: string, purse?: string | null): string {
  return typeof purse === "string" ? `${accountId}|${purse}` : accountId;
}

/** Returns account and purse of a key; null for a wallet. */
export function ofKey(key: string): { readonly accountId: string; readonly purse: string | null } {
  const at = key.indexOf("|");
  if (at < 0) return { accountId: key, purse: null };
  return { accountId: key.slice(0, at), purse: key.slice(at + 1) };
}
