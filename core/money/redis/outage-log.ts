import type { Log } from "../../process/log.ts";
import { ThrottledLog } from "../../process/throttled-log.ts";
import { LIFETIMES } from "../lifetimes.ts";

/** Logs outages once for all buckets: they mostly fail and recover together. */
export class OutageLog {
  /** When it first asked Redis: a start migrates the ledger before, which can take minutes. */
  private askedMs: number | undefined = undefined;
  private readonly throttled: ThrottledLog;
  private readonly failedBuckets = new Set<string>();
  private wasReached = false;
  private isLogged = false;

  constructor(
    private readonly log: Log,
    private readonly nowMs: () => number,
  ) {
    this.throttled = new ThrottledLog(log, { everyMs: LIFETIMES.outageLogMs, nowMs });
  }

  failed(bucketName: string, error: unknown): void {
    this.askedMs ??= this.nowMs();
    const isConnecting = !this.wasReached && this.nowMs() - this.askedMs < LIFETIMES.connectingMs;
    if (!this.isLogged && !isConnecting) {
      this.isLogged = true;
      this.throttled.warn(
        { err: error },
        "cannot reach Redis; new calls get 503, posts of running calls go to the spool",
      );
    }
    this.failedBuckets.add(bucketName);
  }

  full(): void {
    this.throttled.warn(
      {},
      "Redis is full (maxmemory); new calls get 503, posts of running calls go to the spool",
    );
  }

  ledgerFailed(error: unknown): void {
    this.throttled.warn(
      { err: error },
      "cannot reach the ledger, and Redis may have lost data; new calls get 503 until the ledger replies",
    );
  }

  endsTooMany(gateway: string, reason: string): void {
    this.throttled.warn(
      { gateway, reason },
      "this gateway has found Redis odd too often within a minute; it waits, and its calls get 503",
    );
  }

  recovered(bucketName: string): void {
    this.wasReached = true;
    if (!this.failedBuckets.delete(bucketName) || this.failedBuckets.size > 0) return;
    if (this.isLogged) this.throttled.info({}, "Redis is reachable again");
    this.isLogged = false;
  }

  moved(): void {
    this.throttled.warn({}, "Redis restarted, or lost data; rebuilding wallets from the ledger");
  }

  reaped(process: string, voidedHolds: number): void {
    // Always log voided holds: money moved.
    const log = voidedHolds > 0 ? this.log : this.throttled;
    log.warn(
      { process, voidedHolds },
      "another gateway was silent for its whole lease; voided its holds",
    );
  }

  expelled(): void {
    this.throttled.warn(
      {},
      "this gateway was silent for its whole lease; another gateway voided its holds",
    );
  }
}
