/**
 * `away`: Redis does not reply. `joining`: it replies, and this process checks the data and joins before money moves.
 * `ready`: money moves.
 */
export type BucketState = "away" | "joining" | "ready";

/** The state of a bucket. Callers can wait until it is ready and accepts loads. */
export class Readiness {
  private current: BucketState = "away";
  private loads = false;
  private waiters: (() => void)[] = [];

  get state(): BucketState {
    return this.current;
  }

  /** False in a new epoch, until every post of the earlier ones is in the ledger. */
  get acceptsLoads(): boolean {
    return this.loads;
  }

  set(state: BucketState, acceptsLoads: boolean): void {
    this.current = state;
    this.loads = acceptsLoads;
    if (!this.isReady) return;
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  /** True if money may be moved and wallets may be loaded. */
  get isReady(): boolean {
    return this.current === "ready" && this.loads;
  }

  /** Resolves once `isReady` is true. */
  whenReady(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }
}
