import type { Log } from "../../process/log.ts";

const QUIET_MS = 1_000;

/** Tells the log about the buckets as one: all of them fail and move together, and one line is enough. */
export class Announcer {
  private readonly log: Log;
  private readonly away = new Set<string>();
  private readonly saidAtMs = new Map<string, number>();

  constructor(log: Log) {
    this.log = log;
  }

  isAway(bucketName: string, error: unknown): void {
    if (this.away.size === 0 && this.mayMention("away")) {
      this.log.warn(
        { err: error },
        "redis is away: new calls are refused, running ones are spooled",
      );
    }
    this.away.add(bucketName);
  }

  isBack(bucketName: string): void {
    if (this.away.delete(bucketName) && this.away.size === 0 && this.mayMention("back")) {
      this.log.info("redis is back");
    }
  }

  moved(): void {
    if (!this.mayMention("moved")) return;
    this.log.warn(
      "redis has lost what it knew, or an older state: wallets are read from the ledger again",
    );
  }

  reaped(process: string, voidedHolds: number): void {
    if (voidedHolds === 0 && !this.mayMention(`reaped ${process}`)) return;
    this.log.warn({ process, voidedHolds }, "another gateway was silent: its holds were voided");
  }

  expelled(): void {
    if (!this.mayMention("expelled")) return;
    this.log.warn("this gateway was silent for too long: its holds were voided by another one");
  }

  private mayMention(what: string): boolean {
    const nowMs = performance.now();
    if (nowMs - (this.saidAtMs.get(what) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return false;
    this.saidAtMs.set(what, nowMs);
    return true;
  }
}
