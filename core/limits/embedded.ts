import type { Clock } from "../process/clock.ts";
import { gcra } from "./gcra.ts";
import type { Rate, RateLimiter } from "./rate-limiter.ts";

const SWEEP_AT_MIN = 10_000;

/**
 * Rate limits of one process, in memory. A restart loses them, which at worst allows another burst.
 */
export class EmbeddedRateLimiter implements RateLimiter {
  private readonly clock: Clock;
  private readonly arrivals = new Map<string, number>();
  private sweepAt = SWEEP_AT_MIN;
  private readonly running = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  takeCall(keyId: string, perMinute: number, burst: number): Rate {
    const nowMs = this.clock.monotonic();
    const rate = gcra(this.arrivals.get(keyId), nowMs, perMinute, burst);
    if (this.arrivals.size >= this.sweepAt && !this.arrivals.has(keyId)) this.sweep(nowMs);
    this.arrivals.set(keyId, rate.arrivalMs);
    return rate;
  }

  enterCall(keyId: string, callId: string, max: number): boolean {
    const calls = this.running.get(keyId) ?? new Set<string>();
    if (calls.size >= max) return false;
    calls.add(callId);
    this.running.set(keyId, calls);
    return true;
  }

  leaveCall(keyId: string, callId: string): void {
    const calls = this.running.get(keyId);
    if (calls?.delete(callId) && calls.size === 0) this.running.delete(keyId);
  }

  /**
   * Deletes keys whose arrival time has passed: their whole burst is available again, as for a new
   * key. The next sweep comes when twice as many are left, so each new key costs the same however
   * many there are.
   */
  private sweep(nowMs: number): void {
    for (const [keyId, arrivalMs] of this.arrivals) {
      if (arrivalMs <= nowMs) this.arrivals.delete(keyId);
    }
    this.sweepAt = Math.max(SWEEP_AT_MIN, 2 * this.arrivals.size);
  }
}
