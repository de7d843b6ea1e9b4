import type { Clock } from "../process/clock.ts";
import type { StoreFault } from "../process/store-fault.ts";

/** The ledger refuses calls from before this time: see `core/money/ledger/commit.ts`. */
const EARLIEST_MS = Date.UTC(2020, 0);
const NOTABLE_MS = 1_000;

/** Throws if the clock of this gateway was never set. */
export function checkOwnClock(nowMs: number): void {
  if (nowMs >= EARLIEST_MS) return;
  throw new Error(
    `the clock of this gateway says ${new Date(nowMs).toISOString()}: every call would be ` +
      "refused by the ledger. Set the clock, for example with NTP, then start again",
  );
}

/**
 * Compares the clock of this gateway with that of Postgres: calls are recorded with the gateway's time, sessions and
 * reports use that of Postgres. Redis counts with its own clock alone, so that one can say any time.
 */
export class LedgerClock {
  /** How far Postgres is ahead, as last measured; undefined if it did not reply. Set here alone. */
  aheadMs: number | undefined = undefined;

  constructor(
    private readonly clock: Clock,
    private readonly timeThere: () => Promise<number>,
    /** No gateway starts with a larger difference; 0 allows all. */
    private readonly differenceMsMax: number,
  ) {}

  /** Measures the difference, and returns a fault if it is more than a second. */
  async faults(): Promise<StoreFault[]> {
    this.aheadMs = undefined;
    const sentMs = this.clock.monotonic();
    const beforeMs = this.clock.now();
    const thereMs = await this.timeThere();
    const tripMs = this.clock.monotonic() - sentMs;
    const aheadMs = thereMs - (beforeMs + tripMs / 2);
    // The clock may have been read at any instant of the round trip.
    const sureMs = Math.max(0, Math.abs(aheadMs) - tripMs / 2);
    this.aheadMs = Math.sign(aheadMs) * sureMs;
    if (sureMs <= NOTABLE_MS) return [];
    const side = aheadMs < 0 ? "behind" : "ahead of";
    const max = this.differenceMsMax / 1_000;
    const advice =
      `stores.ledger: the clock of Postgres is ${(sureMs / 1_000).toFixed(1)} s ${side} this gateway's ` +
      `(limits.clock_difference_seconds ${max}): set the clock that is wrong, for example with NTP`;
    return [
      { store: "postgres", setting: "clock", breaks: max > 0 && sureMs / 1_000 > max, advice },
    ];
  }
}
