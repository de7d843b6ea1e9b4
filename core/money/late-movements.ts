import type { HoldStore } from "../contract/hold-store.ts";
import type { Credit, CreditResult, Ledger } from "../contract/ledger.ts";
import { type Machine, sleep } from "../process/machine.ts";
import { LIFETIMES } from "./lifetimes.ts";

/**
 * Movements and limits that the ledger has, and the hold store could not be told of. Tells it when it is back, so that who has
 * paid in the meantime can spend it, though nobody asks again.
 */
export class LateMovements {
  private readonly holdStore: HoldStore;
  private readonly ledger: Ledger;
  private readonly machine: Machine;
  private readonly untold = new Set<string>();

  constructor(holdStore: HoldStore, ledger: Ledger, machine: Machine) {
    this.holdStore = holdStore;
    this.ledger = ledger;
    this.machine = machine;
  }

  /** Tells the hold store what the ledger has of a wallet, again and again until it is heard. Never rejects. */
  async tell(accountId: string, releasedCallId: string | null): Promise<void> {
    const what = `${accountId} ${releasedCallId}`;
    if (this.untold.has(what)) return;
    this.untold.add(what);
    for (let isTold = false; !isTold; ) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
      isTold = await this.tellNow(accountId, releasedCallId);
    }
    this.untold.delete(what);
  }

  /** Commits a movement again, whose commit is in doubt, until the ledger says what became of it. Never rejects. */
  async complete(
    movement: Credit,
    finish: (result: CreditResult) => Promise<CreditResult>,
  ): Promise<void> {
    const what = `movement ${movement.reference}`;
    if (this.untold.has(what)) return;
    this.untold.add(what);
    for (let isDone = false; !isDone; ) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
      isDone = await this.ledger
        .credit(movement)
        .then(finish)
        .then(
          () => true,
          () => false,
        );
    }
    this.untold.delete(what);
  }

  private async tellNow(accountId: string, releasedCallId: string | null): Promise<boolean> {
    try {
      const wallet = await this.ledger.wallet(accountId);
      if (wallet === undefined) return true;
      const { creditVersion, creditedMicroVnd } = wallet;
      await this.holdStore.credit({ accountId, creditVersion, creditedMicroVnd, releasedCallId });
      // False for a wallet that is not loaded: it is loaded with its limits.
      for (const limit of wallet.limits ?? []) await this.holdStore.setLimit(accountId, limit);
      return true;
    } catch {
      return false;
    }
  }
}
