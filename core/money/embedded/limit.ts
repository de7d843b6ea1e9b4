import type { MicroVnd } from "../../catalogue/amount.ts";
import type { LimitBalances, LimitSnapshot } from "../hold-store.ts";
import { requireLimit } from "../limit.ts";

/** A limit beside a wallet, for example the budget of an API key: available, held and uncommitted. */
export class Limit {
  readonly name: string;
  private available: MicroVnd;
  private held: MicroVnd = 0;
  private uncommitted: MicroVnd = 0;
  version: number;
  private total: MicroVnd;

  /** Throws RangeError if a name or an amount is not valid. */
  constructor(snapshot: LimitSnapshot) {
    requireLimit(snapshot);
    this.name = snapshot.name;
    this.version = snapshot.version;
    this.total = snapshot.totalMicroVnd;
    this.available = snapshot.availableMicroVnd;
  }

  /**
   * The available amount. Below zero if the limit was lowered, or if charges exceeded their holds.
   */
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

  /** Changes the total; ignores a version that is not newer. */
  change(snapshot: LimitSnapshot): void {
    requireLimit(snapshot);
    if (snapshot.version <= this.version) return;
    this.available += snapshot.totalMicroVnd - this.total;
    this.total = snapshot.totalMicroVnd;
    this.version = snapshot.version;
  }

  /** Moves an amount from available to held; a negative amount moves it back. */
  take(amount: MicroVnd): void {
    this.available -= amount;
    this.held += amount;
  }

  /** Replaces `held` by a charge. */
  charge(charged: MicroVnd, held: MicroVnd): void {
    this.available += held - charged;
    this.held -= held;
    this.uncommitted += charged;
  }

  /** Takes a charge that is in the ledger out of uncommitted. */
  acknowledge(charged: MicroVnd): void {
    this.uncommitted -= charged;
  }
}

export function limitsOf(
  snapshots: readonly LimitSnapshot[] | undefined,
): Map<string, Limit> | undefined {
  return snapshots && new Map(snapshots.map((snapshot) => [snapshot.name, new Limit(snapshot)]));
}
