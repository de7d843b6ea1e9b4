import type { GatewayConfig } from "../config/load.ts";
import { Backlog } from "../money/backlog.ts";
import { Committer } from "../money/committer.ts";
import type { HoldStoreHealth } from "../money/hold-store.ts";
import { stopMoney } from "../money/stop.ts";
import { StoredWallets } from "../money/stored-wallets.ts";
import { announced } from "../process/announced.ts";
import type { Clock } from "../process/clock.ts";
import type { LineLog } from "../process/log.ts";
import { Clocks } from "./clocks.ts";
import { StoreSettings } from "./store-settings.ts";
import { createStores, OUTBOX_ENTRIES_MAX, type Stores } from "./stores.ts";

/**
 * The batch is large enough for the ledger's best rate. The pause makes batches worth a transaction
 * under light load.
 */
const COMMITTER = { batchEntries: 1000, lingerMs: 250 };

/** The stores, and what moves money between them, in the order in which they start and stop. */
export class Money {
  readonly stores: Stores;
  readonly backlog: Backlog;
  readonly committer: Committer;
  readonly wallets: StoredWallets;
  readonly clocks: Clocks;
  readonly storeSettings: StoreSettings;
  private readonly log: LineLog;

  private constructor(stores: Stores, { limits }: GatewayConfig, clock: Clock, log: LineLog) {
    const { holdStore, ledger, clockReaders, faultReaders } = stores;
    this.stores = stores;
    this.log = log;
    this.backlog = new Backlog({ holdStore, entriesMax: OUTBOX_ENTRIES_MAX });
    this.committer = new Committer({ holdStore, ledger, log, backlog: this.backlog, ...COMMITTER });
    this.wallets = new StoredWallets({ holdStore, ledger });
    const differenceMsMax = limits.clockDifferenceMs;
    this.clocks = new Clocks({ clock, readers: clockReaders, differenceMsMax, log });
    this.storeSettings = new StoreSettings(faultReaders, log);
  }

  /** Opens the stores that a config names, and starts all. If a part cannot start, stops those before it. */
  static async start(config: GatewayConfig, clock: Clock, log: LineLog): Promise<Money> {
    const money = new Money(await createStores(config, clock, log), config, clock, log);
    await money.start();
    return money;
  }

  async stop(): Promise<void> {
    const { wallets, committer, log } = this;
    const { holdStore, balancesLock, ledger } = this.stores;
    this.clocks.stop();
    await this.storeSettings.stop();
    await stopMoney({ wallets, committer, holdStore, log });
    await balancesLock.stop(holdStore.uncommittedCalls() === 0);
    await ledger.stop();
  }

  private async start(): Promise<void> {
    const { log, storeSettings, clocks } = this;
    const { holdStore, balancesLock, ledger } = this.stores;
    await announced(log, "the ledger", ledger.start());
    // Before the hold store, which is ready only once the posts of dead gateways are committed: if all gateways are
    // starting, no other process commits them.
    this.committer.start();
    await announced(log, "the hold store", holdStore.start(), () => reasonOf(holdStore.health()));
    try {
      await announced(log, "the settings of the stores", storeSettings.start());
      await announced(log, "the balances of the ledger", balancesLock.start());
      await announced(log, "the clocks of the stores", clocks.start());
    } catch (error) {
      await this.stop();
      throw error;
    }
    const missed = this.wallets.start();
    await announced(log, "movements that the hold store has not applied", missed);
  }
}

function reasonOf(health: HoldStoreHealth): string | undefined {
  return health.kind === "ok" ? undefined : health.reason;
}
