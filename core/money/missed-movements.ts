import { type Machine, sleep } from "../process/machine.ts";
import type { HoldStore } from "./hold-store.ts";
import type { LateMovements } from "./late-movements.ts";
import type { Ledger } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { setLimits } from "./limit.ts";
import type { Movements } from "./movements.ts";

interface MissedMovementsOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly machine: Machine;
  readonly moves: Movements;
  readonly late: LateMovements;
  /** Runs the movements of an account one after another. */
  readonly oneAtATime: <T>(accountId: string, work: () => Promise<T>) => Promise<T>;
}

/**
 * Finds movements and changes of limits that the ledger has and no process applied. The process that sent one may have
 * died, or lost its connection, and a slow ledger goes on: it commits after every other process has started.
 */
export class MissedMovements {
  private readonly options: MissedMovementsOptions;
  /** The ledger was complete through this time at the last catch-up or look that succeeded. */
  private seenThroughMs: number | undefined;
  /** The versions that the last look found, and that need not be applied again; by account. */
  private found: ReadonlyMap<string, string> = new Map();
  private isWatching = false;

  constructor(options: MissedMovementsOptions) {
    this.options = options;
  }

  /** Applies what the ledger has and loaded wallets lack. */
  async catchUp(): Promise<void> {
    const { holdStore, ledger } = this.options;
    const completeMs = await ledger.completeThrough();
    for await (const page of holdStore.loadedVersions()) {
      if (page.length === 0) continue;
      const newer = await ledger.newerWallets(page);
      await Promise.all(newer.map(({ accountId }) => this.applyNewest(accountId)));
    }
    this.seenThroughMs = completeMs;
  }

  /** Looks for new ones from now on, until `stop`. */
  watch(): void {
    this.isWatching = true;
    void this.lookAgain();
  }

  stop(): void {
    this.isWatching = false;
  }

  private async lookAgain(): Promise<void> {
    while (this.isWatching) {
      await sleep(this.options.machine, LIFETIMES.missedLookMs, { unref: true });
      // The look after one that failed goes back as far, and trusts no earlier one: the ledger may have been restored.
      if (this.isWatching) await this.look().catch(() => (this.found = new Map()));
    }
  }

  private async look(): Promise<void> {
    const { ledger } = this.options;
    const completeMs = await ledger.completeThrough();
    const sinceMs = Math.min(completeMs, this.seenThroughMs ?? completeMs) - LIFETIMES.missedBackMs;
    const found = new Map<string, string>();
    for (const wallet of await ledger.movedWallets(sinceMs)) {
      const { accountId, creditVersion, creditedMicroVnd, limits = [] } = wallet;
      const versions = [creditVersion, creditedMicroVnd, ...limits.map(({ version }) => version)];
      const text = versions.join(" ");
      if (this.found.get(accountId) === text || (await this.applySoon(accountId)))
        found.set(accountId, text);
    }
    this.found = found;
    this.seenThroughMs = completeMs;
  }

  /** A wallet that cannot be reached is applied later. It does not keep a look from the wallets after it. */
  private async applySoon(accountId: string): Promise<boolean> {
    try {
      return await this.applyNewest(accountId);
    } catch {
      void this.options.late.apply(accountId, []);
      return true;
    }
  }

  /**
   * Returns false if the wallet affords the movement only together with others, which are not complete.
   *
   * Reads the wallet when no movement of it is under way here. An older state than that of the last one would release
   * the holds of later ones without taking their money.
   */
  private applyNewest(accountId: string): Promise<boolean> {
    const { holdStore, ledger, moves, oneAtATime } = this.options;
    return oneAtATime(accountId, async () => {
      const wallet = await ledger.wallet(accountId);
      if (wallet === undefined) return true;
      const isApplied = await moves.apply(wallet, null);
      await setLimits(holdStore, ledger, wallet);
      return isApplied;
    });
  }
}
