import type { Rate } from "./rate-limiter.ts";

const MINUTE_MS = 60_000;

/**
 * The generic cell rate algorithm. Its state is one number per key: the theoretical arrival time of
 * the next call at an even rate. A call is allowed if that time is at most the burst ahead of now.
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
