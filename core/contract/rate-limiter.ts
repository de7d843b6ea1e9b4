import type { Awaitable } from "./hold-store.ts";

/** Limits per key, shared by all processes that share a hold store. */
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
