/**
 * `away`: Redis does not answer. `joining`: it does, and this process makes sure that everything is in order.
 * `ready`: money moves.
 */
export type BucketState = "away" | "joining" | "ready";

/** Whether money moves in a bucket, and whether its wallets may be loaded; a waiting room until both are so. */
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

  /** Money moves, and wallets may be loaded. */
  get isReady(): boolean {
    return this.current === "ready" && this.loads;
  }

  /** Resolves once `isReady`. */
  whenReady(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }
}
