import type { OutboxEntry } from "../../contract/hold-store.ts";

interface UncommittedCalls {
  entries: number;
  readonly committed: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Posted calls that a start has found in the journal. Their wallets are not loaded, so they are in no
 * `uncommitted`, and the ledger may have them already or not: until each is acknowledged, a reading of
 * their wallet would be off by them or not, and nobody could tell.
 */
export class Replay {
  private readonly byAccount = new Map<string, UncommittedCalls>();
  private readonly lastPosition: number;

  constructor(entries: readonly OutboxEntry[]) {
    for (const entry of entries) {
      const { accountId } = entry.posting;
      const uncommitted = this.byAccount.get(accountId) ?? begin();
      uncommitted.entries += 1;
      this.byAccount.set(accountId, uncommitted);
    }
    this.lastPosition = Number(entries.at(-1)?.entryId ?? 0);
  }

  /** Resolves once every replayed call of the account is in the ledger; at once where there is none. */
  whenCommitted(accountId: string): Promise<void> {
    return this.byAccount.get(accountId)?.committed ?? Promise.resolve();
  }

  /** Counts an acknowledged entry out; false where it is not a replayed one. */
  acknowledge(entry: OutboxEntry): boolean {
    if (Number(entry.entryId) > this.lastPosition) return false;
    const { accountId } = entry.posting;
    const uncommitted = this.byAccount.get(accountId);
    if (uncommitted === undefined) return true;
    uncommitted.entries -= 1;
    if (uncommitted.entries === 0) {
      this.byAccount.delete(accountId);
      uncommitted.resolve();
    }
    return true;
  }

  /** Ends all waiting: the store stops, and the journal keeps the rest for the next start. */
  abandon(): void {
    for (const uncommitted of this.byAccount.values())
      uncommitted.reject(new Error("the store stops"));
    this.byAccount.clear();
  }
}

function begin(): UncommittedCalls {
  let resolve = () => {};
  let reject: (error: Error) => void = () => {};
  const committed = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // Where nobody waits, giving up is no unhandled rejection.
  committed.catch(() => {});
  return { entries: 0, committed, resolve, reject };
}
