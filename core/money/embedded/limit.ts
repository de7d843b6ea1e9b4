import type { MicroVnd } from "../../contract/amount.ts";
import type { LimitBalances, LimitSnapshot } from "../../contract/hold-store.ts";
import { requireLimit } from "../limit.ts";

/** A limit beside a wallet, a key's budget say: what is available of it, held, and on its way to the ledger. */
export class Limit {
  readonly name: string;
  private available: MicroVnd;
  private held: MicroVnd = 0;
  private uncommitted: MicroVnd = 0;
  private version: number;
  private total: MicroVnd;

  /** Throws RangeError if the snapshot is none. */
  constructor(snapshot: LimitSnapshot) {
    requireLimit(snapshot);
    this.name = snapshot.name;
    this.version = snapshot.version;
    this.total = snapshot.totalMicroVnd;
    this.available = snapshot.availableMicroVnd;
  }

  /** Below zero if the limit was lowered, or charged beyond its holds. */
  get availableMicroVnd(): MicroVnd {
    return this.available;
  }

  get balances(): LimitBalances {
    return {
      totalMicroVnd: this.total,
      availableMicroVnd: this.available,
      heldMicroVnd: this.held,
      uncommittedMicroVnd: this.uncommitted,
    };
  }

  /** Sets another total; does nothing if that is old news. */
  change(snapshot: LimitSnapshot): void {
    requireLimit(snapshot);
    if (snapshot.version <= this.version) return;
    this.available += snapshot.totalMicroVnd - this.total;
    this.total = snapshot.totalMicroVnd;
    this.version = snapshot.version;
  }

  /** Moves so much from available to held; back if it is below zero. */
  take(amount: MicroVnd): void {
    this.available -= amount;
    this.held += amount;
  }

  /** Charges an amount in place of what was held. */
  charge(charged: MicroVnd, held: MicroVnd): void {
    this.available += held - charged;
    this.held -= held;
    this.uncommitted += charged;
  }

  /** A charge is in the ledger. */
  acknowledge(charged: MicroVnd): void {
    this.uncommitted -= charged;
  }
}

export function limitsOf(
  snapshots: readonly LimitSnapshot[] | undefined,
): Map<string, Limit> | undefined {
  return snapshots && new Map(snapshots.map((snapshot) => [snapshot.name, new Limit(snapshot)]));
}
