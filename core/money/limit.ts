import { requireMicroVnd } from "../catalogue/amount.ts";
import {
  type HoldStore,
  type LimitSnapshot,
  WALLET_LIMIT,
  type WalletSnapshot,
} from "./hold-store.ts";
import type { Ledger } from "./ledger.ts";

/** Names that a limit can have. They have no `|`, which separates names in Redis. */
const NAME = /^[A-Za-z0-9:._-]{1,100}$/;

/** Throws RangeError if a limit cannot have this name. */
export function requireLimitName(name: string): void {
  if (!NAME.test(name) || name === WALLET_LIMIT) {
    throw new RangeError(
      `not the name of a limit: ${name}; use letters, digits and : . _ -, 100 at most`,
    );
  }
}

/** Throws RangeError if a store could not represent the limit exactly. */
export function requireLimit({ name, totalMicroVnd, availableMicroVnd }: LimitSnapshot): void {
  requireLimitName(name);
  requireMicroVnd(totalMicroVnd);
  if (!Number.isSafeInteger(availableMicroVnd)) {
    throw new RangeError(
      `${availableMicroVnd} µđ is not an amount that a limit can have available; use a safe integer`,
    );
  }
}

/**
 * Sets a limit beside its wallet, and loads the wallet for it if need be: a load that is running may have read the ledger
 * before the limit changed. Waits as long as the load does.
 */
export async function setLimit(
  holdStore: HoldStore,
  ledger: Pick<Ledger, "wallet">,
  accountId: string,
  limit: LimitSnapshot,
): Promise<void> {
  while (!(await holdStore.setLimit(accountId, limit))) {
    if (!(await holdStore.load(accountId, () => ledger.wallet(accountId)))) return;
  }
}

/**
 * Sets the limits of a wallet that was read before. Reads each again right before it is set: a store takes only what was
 * read in its own epoch, and the ledger may have been restored since.
 */
export async function setLimits(
  holdStore: HoldStore,
  ledger: Pick<Ledger, "wallet">,
  { accountId, limits = [] }: WalletSnapshot,
): Promise<void> {
  for (const { name } of limits) {
    const wallet = await ledger.wallet(accountId);
    const limit = wallet?.limits?.find((each) => each.name === name);
    if (limit) await setLimit(holdStore, ledger, accountId, limit);
  }
}
