import { requireMicroVnd } from "../contract/amount.ts";
import { type LimitSnapshot, WALLET_LIMIT } from "../contract/hold-store.ts";

/** What both stores can write: `|` separates names in a hold of Redis. */
const NAME = /^[A-Za-z0-9:._-]{1,100}$/;

/** Throws RangeError for a name that no limit can have. */
export function requireLimitName(name: string): void {
  if (!NAME.test(name) || name === WALLET_LIMIT) {
    throw new RangeError(
      `not the name of a limit: ${name}; use letters, digits and : . _ -, 100 at most`,
    );
  }
}

/** Throws RangeError for a limit that no store could keep exactly. */
export function requireLimit({ name, totalMicroVnd, availableMicroVnd }: LimitSnapshot): void {
  requireLimitName(name);
  requireMicroVnd(totalMicroVnd);
  if (!Number.isSafeInteger(availableMicroVnd)) {
    throw new RangeError(`not an amount of µđ that a limit can have: ${availableMicroVnd}`);
  }
}
