import type { Clock } from "../clock.ts";

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 5_000;
const OPEN_MS_MAX = 60_000;

/**
 * A circuit breaker: after several failures in a row an upstream is left alone for a while, then one call
 * at a time probes it. Each failed probe doubles the wait, up to a minute; one success closes it.
 */
export class Breaker {
  private readonly clock: Clock;
  private failures = 0;
  private openUntilMs = 0;
  private waitMs = OPEN_MS;
  private probing = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Whether the upstream may be asked now. Taking a probe is `begin`'s business. */
  get allows(): boolean {
    if (this.failures < FAILURES_TO_OPEN) return true;
    return !this.probing && this.clock.monotonic() >= this.openUntilMs;
  }

  get state(): "closed" | "open" | "probing" {
    if (this.failures < FAILURES_TO_OPEN) return "closed";
    return this.probing ? "probing" : "open";
  }

  begin(): void {
    if (this.failures >= FAILURES_TO_OPEN) this.probing = true;
  }

  succeed(): void {
    this.failures = 0;
    this.waitMs = OPEN_MS;
    this.probing = false;
  }

  fail(): void {
    this.failures++;
    if (this.failures < FAILURES_TO_OPEN) return;
    if (this.probing) this.waitMs = Math.min(this.waitMs * 2, OPEN_MS_MAX);
    this.probing = false;
    this.openUntilMs = this.clock.monotonic() + this.waitMs;
  }

  /** The call ended with no word on the upstream's health: the client left first, say. */
  forget(): void {
    this.probing = false;
  }
}
