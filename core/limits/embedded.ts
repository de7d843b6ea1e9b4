import { LRUCache } from "lru-cache";
import type { Clock } from "../process/clock.ts";
import type { Rate, RateLimiter } from "./rate-limiter.ts";

/** One whose last call is older than those of so many others has its whole burst again. */
const NAMES_MAX = 100_000;

/** Rate limits of one process, in memory. A restart loses them, which at worst allows another burst. */
export class EmbeddedRateLimiter implements RateLimiter {
  private readonly ofKeys = new LRUCache<string, number>({ max: NAMES_MAX });
  /** Of names with a colon, such as `admin:<address>`: strangers have many, which must not push out keys. */
  private readonly ofOthers = new LRUCache<string, number>({ max: NAMES_MAX });
  private readonly running = new Map<string, Set<string>>();

  constructor(private readonly clock: Clock) {}

  takeCall(keyId: string, perMinute: number, burst: number): Rate {
    const nowMs = this.clock.monotonic();
    const arrivals = keyId.includes(":") ? this.ofOthers : this.ofKeys;
    const rate = gcra(arrivals.get(keyId), nowMs, perMinute, burst);
    arrivals.set(keyId, rate.arrivalMs);
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
