import type { Clock } from "../process/clock.ts";
import type { Rate, RateLimiter } from "./rate-limiter.ts";

const SWEEP_AT_MIN = 10_000;

/** Rate limits of one process, in memory. A restart loses them, which at worst allows another burst. */
export class EmbeddedRateLimiter implements RateLimiter {
  private readonly arrivals = new Map<string, number>();
  private sweepAt = SWEEP_AT_MIN;
  private readonly running = new Map<string, Set<string>>();

  constructor(private readonly clock: Clock) {}

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
   * Deletes keys whose arrival time has passed: their whole burst is available again, as for a new key. The next sweep
   * comes when twice as many are left, so each new key costs the same however many there are.
   */
  private sweep(nowMs: number): void {
    for (const [keyId, arrivalMs] of this.arrivals) {
      if (arrivalMs <= nowMs) this.arrivals.delete(keyId);
    }
    this.sweepAt = Math.max(SWEEP_AT_MIN, 2 * this.arrivals.size);
  }
}

const MINUTE_MS = 60_000;

/**
 * The generic cell rate algorithm. Its state is one number per key: the theoretical arrival time of the next call at an
 * even rate. A call is allowed if that time is at most the burst ahead of now. A time beyond that is of another limit, and
 * counts as the burst.
 */
function gcra(
  arrivalMs: number | undefined,
  nowMs: number,
  perMinute: number,
  burst: number,
): Rate & { readonly arrivalMs: number } {
  const intervalMs = MINUTE_MS / perMinute;
  const toleranceMs = intervalMs * burst;
  const base = Math.min(Math.max(arrivalMs ?? nowMs, nowMs), nowMs + toleranceMs);
  const next = base + intervalMs;
  const allowed = next - nowMs <= toleranceMs + 1e-6;
  const arrival = allowed ? next : base;
  return {
    allowed,
    arrivalMs: arrival,
    remaining: Math.max(0, Math.floor((toleranceMs - (arrival - nowMs)) / intervalMs + 1e-6)),
    resetMs: Math.max(0, arrival - nowMs),
    retryMs: allowed ? 0 : next - nowMs - toleranceMs,
  };
}
