import { type Machine, sleep } from "../process/machine.ts";
import type { HoldStore } from "./hold-store.ts";
import type { Credit, Ledger } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { setLimits } from "./limit.ts";

/**
 * Applies movements and limits that are committed to the ledger and that the hold store could not take at first;
 * retries until it does. So a payment made during an outage becomes spendable by itself.
 */
export class LateMovements {
  private readonly holdStore: HoldStore;
  private readonly ledger: Ledger;
  private readonly machine: Machine;
  private readonly unapplied = new Set<string>();

  constructor(holdStore: HoldStore, ledger: Ledger, machine: Machine) {
    this.holdStore = holdStore;
    this.ledger = ledger;
    this.machine = machine;
  }

  /** Applies the ledger's state of a wallet to the hold store; retries until that succeeds. Never rejects. */
  apply(accountId: string, releasedCallIds: readonly string[]): Promise<void> {
    const what = `${accountId} ${releasedCallIds.join(" ")}`;
    return this.retry(what, () => this.applyNow(accountId, releasedCallIds));
  }

  /** Repeats a movement whose commit has an unknown outcome, until `again` resolves. Never rejects. */
  complete({ accountId, reference }: Credit, again: () => Promise<unknown>): Promise<void> {
    return this.retry(`movement ${accountId} ${reference}`, () => succeeds(again));
  }

  /**
   * If the outcome of a commit is unknown, later applies the state that the ledger has of the wallet by then. Still
   * rejects.
   */
  async orLater<T>(committed: Promise<T>, accountId: string): Promise<T> {
    try {
      return await committed;
    } catch (error) {
      void this.apply(accountId, []);
      throw error;
    }
  }

  /** Repeats `work` in the background until it succeeds. */
  whenPossible(work: () => Promise<void>): void {
    void this.retry("work of the start", () => succeeds(work));
  }

  /** Repeats `attempt` until it returns true; once at a time for each `what`. */
  private async retry(what: string, attempt: () => Promise<boolean>): Promise<void> {
    if (this.unapplied.has(what)) return;
    this.unapplied.add(what);
    for (let isDone = false; !isDone; ) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
      isDone = await attempt();
    }
    this.unapplied.delete(what);
  }

  private async applyNow(accountId: string, releasedCallIds: readonly string[]): Promise<boolean> {
    try {
      const wallet = await this.ledger.wallet(accountId);
      if (wallet === undefined) return true;
      const { creditVersion, creditedMicroVnd } = wallet;
      const total = { accountId, creditVersion, creditedMicroVnd, releasedCallIds };
      const isApplied = await this.holdStore.credit(total);
      await setLimits(this.holdStore, this.ledger, wallet);
      return isApplied || releasedCallIds.length === 0;
    } catch {
      return false;
    }
  }
}

function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  return work().then(
    () => true,
    () => false,
  );
}
