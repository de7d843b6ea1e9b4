import type { BreakerState, Failure } from "../contract/upstreams.ts";
import { backoffMs } from "../process/backoff.ts";
import type { Clock } from "../process/clock.ts";

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 5_000;
const OPEN_MS_MAX = 60_000;

/**
 * A circuit breaker: after several failures in a row an upstream is left alone for a while, then one call
 * at a time probes it. Each failed probe doubles the wait, up to a minute; one success closes it.
 */
export class Breaker implements BreakerState {
  private readonly clock: Clock;
  private inRow = 0;
  private count = 0;
  private last: Failure | undefined = undefined;
  private openUntilMs = 0;
  private failedProbes = 0;
  private probing = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Whether the upstream may be asked now. Taking a probe is `begin`'s business. */
  get allows(): boolean {
    if (this.inRow < FAILURES_TO_OPEN) return true;
    return !this.probing && this.clock.monotonic() >= this.openUntilMs;
  }

  get state(): "closed" | "open" | "probing" {
    if (this.inRow < FAILURES_TO_OPEN) return "closed";
    return this.probing ? "probing" : "open";
  }

  /** Failures since the start of the process, and how many of them came in a row just now. */
  get failures(): number {
    return this.count;
  }

  get failuresInRow(): number {
    return this.inRow;
  }

  get lastFailure(): Failure | undefined {
    return this.last;
  }

  /** How long until an open breaker lets a call probe; 0 where it lets calls through now. */
  get retryInMs(): number {
    if (this.inRow < FAILURES_TO_OPEN) return 0;
    return Math.max(0, this.openUntilMs - this.clock.monotonic());
  }

  begin(): void {
    if (this.inRow >= FAILURES_TO_OPEN) this.probing = true;
  }

  succeed(): void {
    this.inRow = 0;
    this.failedProbes = 0;
    this.probing = false;
  }

  /** `reason`: for operators, never anything that a call holds. */
  fail(reason = "failed"): void {
    this.note(reason);
    this.inRow++;
    if (this.inRow < FAILURES_TO_OPEN) return;
    if (this.probing) this.failedProbes++;
    this.probing = false;
    const waitMs = backoffMs(1 + this.failedProbes, OPEN_MS, OPEN_MS_MAX);
    this.openUntilMs = this.clock.monotonic() + waitMs;
  }

  /** Trouble that says nothing of the upstream's health: it refuses the gateway's own key, say. */
  note(reason: string): void {
    this.count++;
    this.last = { atMs: this.clock.monotonic(), reason };
  }

  /** The call ended with no word on the upstream's health: the client left first, say. */
  forget(): void {
    this.probing = false;
  }
}
