import type { Awaitable } from "./hold-store.ts";

/** Limits per key, shared by all processes that share a hot store. */
export interface RateLimiter {
  /** Takes one call out of `perMinute`, by GCRA: an even rate, with a burst of up to `burst` calls. */
  take(keyId: string, perMinute: number, burst: number): Awaitable<Rate>;
  /** Counts a call as running, unless `max` run already. */
  enter(keyId: string, callId: string, max: number): Awaitable<boolean>;
  /** A call that was let in has ended. */
  leave(keyId: string, callId: string): Awaitable<void>;
}

export interface Rate {
  readonly allowed: boolean;
  /** Calls that could follow at once. */
  readonly remaining: number;
  /** Until the full burst is there again. */
  readonly resetMs: number;
  /** Until the next call is allowed; 0 where it is now. */
  readonly retryMs: number;
}

const MINUTE_MS = 60_000;

/**
 * The generic cell rate algorithm: one number a key, the theoretical arrival time of the next call at an
 * even rate. A call is allowed while that time is no more than the burst ahead of now.
 */
export function gcra(
  arrivalMs: number | undefined,
  nowMs: number,
  perMinute: number,
  burst: number,
): Rate & { readonly arrivalMs: number } {
  const intervalMs = MINUTE_MS / perMinute;
  const toleranceMs = intervalMs * burst;
  const base = Math.max(arrivalMs ?? nowMs, nowMs);
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
