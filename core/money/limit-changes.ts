import type { Machine } from "../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import type { HoldStore, LimitBalances, LimitSnapshot } from "./hold-store.ts";
import type { Ledger, LimitChange, LimitChangeResult } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { requireLimitName, setLimit } from "./limit.ts";
import type { Movements } from "./movements.ts";

interface LimitChangesOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly machine: Machine;
  readonly movements: Movements;
}

/** Changes limits beside wallets: commits a change to the ledger first, then applies it to the hold store. */
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
   * Removes a limit; false if there is none. The ledger goes first: if only the hold store had dropped it, the next
   * hold would load it again, without its uncommitted charges.
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
    const { holdStore, ledger, machine, movements } = this.options;
    const setting = setLimit(holdStore, ledger, accountId, limit);
    const set = withTimeout(setting, LIFETIMES.loadTimeoutMs, machine);
    if ((await movements.orLater(set, accountId)) !== TIMED_OUT) return;
    void movements.applyLater(accountId);
    throw new Error(
      "the change of the limit is committed; it is applied once its wallet can be loaded",
    );
  }
}
