import type { Log } from "../../process/log.ts";
import { ThrottledLog } from "../../process/throttled-log.ts";
import { LIFETIMES } from "../lifetimes.ts";

/** Logs the buckets as one: all of them fail and move together, and one line is enough. */
export class OutageLog {
  private readonly log: Log;
  private readonly throttled: ThrottledLog;
  private readonly away = new Set<string>();

  constructor(log: Log, nowMs: () => number) {
    this.log = log;
    this.throttled = new ThrottledLog(log, { everyMs: LIFETIMES.outageLogMs, nowMs });
  }

  isAway(bucketName: string, error: unknown): void {
    if (this.away.size === 0) {
      this.throttled.warn(
        { err: error },
        "redis is away: new calls are refused, running ones are spooled",
      );
    }
    this.away.add(bucketName);
  }

  isBack(bucketName: string): void {
    if (this.away.delete(bucketName) && this.away.size === 0) {
      this.throttled.info({}, "redis is back");
    }
  }

  moved(): void {
    this.throttled.warn(
      {},
      "redis has lost what it knew, or an older state: wallets are read from the ledger again",
    );
  }

  reaped(process: string, voidedHolds: number): void {
    // Money that moved is never left out.
    const log = voidedHolds > 0 ? this.log : this.throttled;
    log.warn({ process, voidedHolds }, "another gateway was silent: its holds were voided");
  }

  expelled(): void {
    this.throttled.warn(
      {},
      "this gateway was silent for too long: its holds were voided by another one",
    );
  }
}
