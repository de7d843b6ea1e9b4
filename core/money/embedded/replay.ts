import type { StoredEntry } from "../outbox-entry.ts";
import { callOf } from "../unreadable.ts";

interface UncommittedCalls {
  readonly entries: Set<StoredEntry>;
  readonly committed: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * The posted calls that a start found in the journal. The ledger may have them already. No `uncommitted` counts them,
 * because their wallets are not loaded. So a wallet is loaded only after its replayed calls are acknowledged; before
 * that, its balance in the ledger may or may not include them. Those that a load waits for are committed first.
 */
export class Replay {
  private readonly byAccount = new Map<string, UncommittedCalls>();
  /** The calls of `byAccount` that a load waits for. */
  private readonly waitedFor = new Set<UncommittedCalls>();
  private readonly lastPosition: number;
  /** How many are not in the ledger yet. */
  left: number;

  constructor(entries: readonly StoredEntry[]) {
    for (const entry of entries) {
      const { accountId } = callOf(entry);
      const uncommitted = this.byAccount.get(accountId) ?? begin();
      uncommitted.entries.add(entry);
      this.byAccount.set(accountId, uncommitted);
    }
    this.left = entries.length;
    this.lastPosition = Number(entries.at(-1)?.entryId ?? 0);
  }

  /** Resolves once every replayed call of the account is in the ledger; at once if there is none. */
  whenCommitted(accountId: string): Promise<void> {
    const uncommitted = this.byAccount.get(accountId);
    if (uncommitted === undefined) return Promise.resolve();
    this.waitedFor.add(uncommitted);
    return uncommitted.committed;
  }

  /** Returns up to `max` entries that loads wait for: those of accounts with few of them first. */
  awaited(max: number): StoredEntry[] {
    if (this.waitedFor.size === 0) return [];
    const awaited = [...this.waitedFor].sort((one, other) => one.entries.size - other.entries.size);
    const first: StoredEntry[] = [];
    for (const { entries } of awaited) {
      for (const entry of entries) {
        if (first.length === max) return first;
        first.push(entry);
      }
    }
    return first;
  }

  /** Drops an acknowledged entry. Returns false if it was not replayed. */
  acknowledge(entry: StoredEntry): boolean {
    if (Number(entry.entryId) > this.lastPosition) return false;
    const { accountId } = callOf(entry);
    const uncommitted = this.byAccount.get(accountId);
    if (uncommitted === undefined) return true;
    if (uncommitted.entries.delete(entry)) this.left -= 1;
    if (uncommitted.entries.size === 0) {
      this.byAccount.delete(accountId);
      this.waitedFor.delete(uncommitted);
      uncommitted.resolve();
    }
    return true;
  }

  /** Rejects all waiting loads, because the store stops. The journal keeps the rest for the next start. */
  abandon(): void {
    for (const uncommitted of this.byAccount.values())
      uncommitted.reject(new Error("the hold store is stopping; try again after the restart"));
    this.byAccount.clear();
    this.waitedFor.clear();
  }
}

function begin(): UncommittedCalls {
  let resolve = () => {};
  let reject: (error: Error) => void = () => {};
  const committed = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // Avoids an unhandled rejection if no load waits.
  committed.catch(() => {});
  return { entries: new Set(), committed, resolve, reject };
}
