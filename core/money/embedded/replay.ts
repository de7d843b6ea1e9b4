import type { StoredEntry } from "../outbox-entry.ts";

/**
 * The posted calls that a start found in the journal. The ledger may have them already. No `uncommitted` counts them,
 * because their wallets are not loaded. So wallets are loaded only after all of them are acknowledged; before that, a
 * balance in the ledger may or may not include them. They are the oldest, so they are committed first.
 */
export class Replay {
  /** Resolves once the ledger has all of them. */
  readonly committed: Promise<void>;
  /** How many are not in the ledger yet. */
  left: number;
  private readonly lastPosition: number;
  private resolve = () => {};
  private reject: (error: Error) => void = () => {};

  constructor(entries: readonly StoredEntry[]) {
    this.left = entries.length;
    this.lastPosition = Number(entries.at(-1)?.entryId ?? 0);
    this.committed = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Avoids an unhandled rejection if no load waits.
    this.committed.catch(() => {});
    if (this.left === 0) this.resolve();
  }

  /** Counts an acknowledged entry, once for each, if it was replayed. */
  acknowledge(entry: StoredEntry): void {
    if (Number(entry.entryId) > this.lastPosition) return;
    this.left -= 1;
    if (this.left === 0) this.resolve();
  }

  /** Rejects all waiting loads, because the store stops. The journal keeps the rest for the next start. */
  abandon(): void {
    this.reject(new Error("the hold store is stopping; try again after the restart"));
  }
}
