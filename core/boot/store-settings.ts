import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import type { StoreFault } from "../process/store-fault.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";

/** Returns the faults of a store, as its server has them now. */
export type ReadFaults = () => Promise<readonly StoreFault[]>;

const RECHECK_MS = 60_000;
const READ_TIMEOUT_MS = 5_000;

/**
 * Checks the settings of Redis and Postgres on which the guarantees of money rest. A start is refused if one breaks
 * them. Looks again every minute, since after a fail-over another server replies: then calls go on, as an outage is sure
 * and the loss is not, and the log and a metric say what to set. Postgres and Redis change it without a restart.
 */
export class StoreSettings {
  private readonly found: Map<ReadFaults, readonly StoreFault[]>;
  private readonly task: PeriodicTask;
  /** As last read; empty if nothing is wrong. Set here alone. */
  faults: readonly StoreFault[] = [];

  constructor(
    readers: readonly ReadFaults[],
    private readonly log: Log,
    recheckMs = RECHECK_MS,
  ) {
    this.found = new Map(readers.map((faultsOf) => [faultsOf, []]));
    this.task = new PeriodicTask(async () => {
      await this.look();
      return recheckMs;
    });
  }

  /** Throws if a setting breaks a guarantee. */
  async start(): Promise<void> {
    await this.look();
    const broken = this.faults.find(({ breaks }) => breaks);
    if (broken) throw new Error(broken.advice);
    this.task.start();
  }

  async stop(): Promise<void> {
    await this.task.stop();
  }

  private async look(): Promise<void> {
    await Promise.all(Array.from(this.found.keys(), (faultsOf) => this.read(faultsOf)));
    const known = new Set(this.faults.map(nameOf));
    this.faults = [...this.found.values()].flat();
    for (const { breaks, advice } of this.faults.filter((fault) => !known.has(nameOf(fault)))) {
      if (breaks)
        this.log.error({ reason: advice }, "a store has a fault with which no gateway starts");
      else this.log.warn({ reason: advice }, "a store has a fault that makes failures worse");
    }
  }

  /** A store that does not reply keeps the faults that were found last. */
  private async read(faultsOf: ReadFaults): Promise<void> {
    try {
      const faults = await withTimeout(faultsOf(), READ_TIMEOUT_MS);
      if (faults === TIMED_OUT) throw new Error(`no reply within ${READ_TIMEOUT_MS} ms`);
      this.found.set(faultsOf, faults);
    } catch (error) {
      this.log.debug({ err: error }, "cannot read the settings of a store");
    }
  }
}

/** Without its advice, which may say a measure: a fault is logged once while it lasts. */
function nameOf({ store, setting, breaks }: StoreFault): string {
  return `${store} ${setting} ${breaks}`;
}
