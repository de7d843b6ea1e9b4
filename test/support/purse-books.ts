import type { OutboxEntry, StoredEntry } from "../../core/money/outbox-entry.ts";
import { walletKey } from "../../core/money/purse.ts";
import { callOf } from "../../core/money/unreadable.ts";

/** A model of the purses in the ledger. Charges in quarantine lower a purse too; `parked` has them. */
export class PurseBooks {
  /** The charges of calls, by the key of their purse. */
  readonly charged = new Map<string, bigint>();

  copy(): PurseBooks {
    const copy = new PurseBooks();
    for (const [key, charged] of this.charged) copy.charged.set(key, charged);
    return copy;
  }

  charge({ posting, chargedMicroVnd }: OutboxEntry): void {
    for (const name of posting.purses ?? []) {
      const key = walletKey(posting.accountId, name);
      this.charged.set(key, (this.charged.get(key) ?? 0n) + BigInt(chargedMicroVnd));
    }
  }

  /** Returns the balance of a purse: 0 less every charge. */
  balance(accountId: string, name: string, parked: Iterable<StoredEntry>): bigint {
    let balance = -(this.charged.get(walletKey(accountId, name)) ?? 0n);
    for (const entry of parked) {
      const call = callOf(entry);
      if (call.accountId === accountId && call.purses?.includes(name))
        balance -= BigInt(entry.chargedMicroVnd);
    }
    return balance;
  }
}
