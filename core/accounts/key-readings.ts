import type { CallerKey } from "./account.ts";

interface KeyReadingsOptions {
  /** Reads a key from the ledger. */
  readonly readKey: (name: string) => Promise<CallerKey | undefined>;
  /** Called once for each query that succeeded, in the same step as the check for changes. */
  readonly store: (name: string, key: CallerKey | undefined) => void;
}

interface Reading {
  /** How many changes were known when the query began. */
  readonly change: number;
  readonly result: Promise<CallerKey | undefined>;
}

/**
 * Reads keys from the ledger. Concurrent reads of one key share one query. A key whose account changes during the
 * query is read again: the query may have seen it as it was before.
 */
export class KeyReadings {
  private readonly options: KeyReadingsOptions;
  /** Running queries by the name of the key, oldest first. */
  private readonly running = new Map<string, Reading>();
  /** Accounts that changed since the oldest running query began, with the number of their last change, oldest first. */
  private readonly changed = new Map<string, number>();
  private changes = 0;

  constructor(options: KeyReadingsOptions) {
    this.options = options;
  }

  read(name: string): Promise<CallerKey | undefined> {
    const running = this.running.get(name);
    if (running) return running.result;
    const change = this.changes;
    const result = this.options.readKey(name).then(
      (key) => {
        const hasChanged = key !== undefined && (this.changed.get(key.accountId) ?? 0) > change;
        this.end(name);
        if (hasChanged) return this.read(name);
        this.options.store(name, key);
        return key;
      },
      (error: unknown) => {
        this.end(name);
        throw error;
      },
    );
    this.running.set(name, { change, result });
    return result;
  }

  /** Call when an account changes. Results of queries that are running are then not used for it. */
  accountChanged(accountId: string): void {
    this.changes += 1;
    if (this.running.size === 0) return;
    this.changed.delete(accountId);
    this.changed.set(accountId, this.changes);
  }

  private end(name: string): void {
    this.running.delete(name);
    const [oldest] = this.running.values();
    for (const [accountId, change] of this.changed) {
      if (oldest !== undefined && change > oldest.change) return;
      this.changed.delete(accountId);
    }
  }
}
