import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import type { Services } from "../../core/services.ts";
import type { Wallets } from "../../core/wallets.ts";

/** What the last reconciliation found. */
export interface Reconciled {
  readonly atMs: number;
  readonly wallets: number;
  readonly drifting: number;
  readonly driftMicroVnd: number;
}

/**
 * Compares the books of all wallets again and again, so that a drift is an alarm and not a discovery. Each
 * comparison begins so long after the end of the one before.
 */
export class Reconciliation {
  private readonly wallets: Wallets;
  private readonly log: Log;
  private readonly clock: Clock;
  private readonly everyMs: number;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  last: Reconciled | undefined;

  constructor({ wallets, log, clock }: Services, everyMs: number) {
    this.wallets = wallets;
    this.log = log;
    this.clock = clock;
    this.everyMs = everyMs;
  }

  start(): void {
    if (this.everyMs === 0 || this.stopped) return;
    this.timer = setTimeout(() => void this.reconcile().then(() => this.start()), this.everyMs);
    this.timer.unref();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async reconcile(): Promise<void> {
    let wallets = 0;
    let drifting = 0;
    let driftMicroVnd = 0;
    try {
      for await (const row of this.wallets.reconcile()) {
        wallets++;
        if (row.driftMicroVnd === 0n) continue;
        drifting++;
        driftMicroVnd += Math.abs(Number(row.driftMicroVnd));
      }
    } catch (error) {
      // Its age, which is a metric too, tells that there is no newer one.
      this.log.warn({ err: error }, "the wallets cannot be reconciled now");
      return;
    }
    if (drifting > 0) {
      this.log.error(
        { wallets, drifting, driftMicroVnd },
        "the books of some wallets do not agree",
      );
    }
    this.last = { atMs: this.clock.now(), wallets, drifting, driftMicroVnd };
  }
}
