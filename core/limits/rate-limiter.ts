/** Limits per key, shared by all processes that share a hold store. */
export interface RateLimiter {
  /** Takes one call out of `perMinute`, by GCRA: an even rate, with a burst of up to `burst` calls. */
  takeCall(keyId: string, perMinute: number, burst: number): Rate | Promise<Rate>;
  /** Counts a call as running and returns true. Returns false if `max` calls run already. */
  enterCall(keyId: string, callId: string, max: number): boolean | Promise<boolean>;
  /** Ends a call that `enterCall` has counted. */
  leaveCall(keyId: string, callId: string): void | Promise<void>;
}

export interface Rate {
  readonly allowed: boolean;
  /** How many more calls could follow at once. */
  readonly remaining: number;
  /** Time until the full burst is available again. */
  readonly resetMs: number;
  /** Time until the next call is allowed; 0 if it is allowed now. */
  readonly retryMs: number;
}
