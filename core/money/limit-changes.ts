import type { HoldStore, LimitBalances, LimitSnapshot } from "../contract/hold-store.ts";
import type { Ledger, LimitChange, LimitChangeResult } from "../contract/ledger.ts";
import type { Machine } from "../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import type { LateMovements } from "./late-movements.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { requireLimitName } from "./limit.ts";

interface LimitChangesOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly machine: Machine;
  readonly late: LateMovements;
  /** Loads a wallet into the hold store; false if the ledger has none. */
  readonly loadWallet: (accountId: string) => Promise<boolean>;
}

/** Changes of limits beside wallets: committed to the ledger first, then applied to the hold store. */
export class LimitChanges {
  private readonly options: LimitChangesOptions;

  constructor(options: LimitChangesOptions) {
    this.options = options;
  }

  async change(change: LimitChange): Promise<LimitChangeResult> {
    requireLimitName(change.name);
    const result = await this.options.ledger.changeLimit(change);
    if (result.kind === "changed") await this.apply(change.accountId, result.limit);
    return result;
  }

  /**
   * The ledger first: a limit that only the hold store has forgotten would be loaded again by a hold, without the
   * charges that are on their way.
   */
  async remove(accountId: string, name: string): Promise<boolean> {
    requireLimitName(name);
    const { ledger, holdStore } = this.options;
    const isRemoved = await ledger.removeLimit(accountId, name);
    await holdStore.dropLimit(accountId, name);
    return isRemoved;
  }

  async left(accountId: string, name: string): Promise<LimitBalances | undefined> {
    const { ledger, holdStore } = this.options;
    const loaded = await holdStore.limit(accountId, name);
    if (loaded !== undefined) return loaded;
    const wallet = await ledger.wallet(accountId);
    const limit = wallet?.limits?.find((each) => each.name === name);
    if (limit === undefined) return undefined;
    const { totalMicroVnd, availableMicroVnd } = limit;
    return { totalMicroVnd, availableMicroVnd, heldMicroVnd: 0, uncommittedMicroVnd: 0 };
  }

  private async apply(accountId: string, limit: LimitSnapshot): Promise<void> {
    const { machine, late } = this.options;
    try {
      const set = withTimeout(this.set(accountId, limit), LIFETIMES.loadTimeoutMs, machine);
      if ((await set) !== TIMED_OUT) return;
    } catch (error) {
      void late.apply(accountId, null);
      throw error;
    }
    void late.apply(accountId, null);
    throw new Error("a limit is committed, and will be applied when its wallet can be loaded");
  }

  private async set(accountId: string, limit: LimitSnapshot): Promise<void> {
    const { holdStore, loadWallet } = this.options;
    // A wallet that is being loaded may have been read before this change: it must be there, then it gets the change.
    while (!(await holdStore.setLimit(accountId, limit))) {
      if (!(await loadWallet(accountId))) return;
    }
  }
}
