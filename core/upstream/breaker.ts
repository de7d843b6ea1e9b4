import type { BreakerState, Failure } from "../plugin/config.ts";
import { backoffMs } from "../process/backoff.ts";
import type { Clock } from "../process/clock.ts";

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 5_000;
const OPEN_MS_MAX = 60_000;

/**
 * A circuit breaker. After 5 failures in a row it opens for 5 s, then lets one call at a time
 * through as a probe. Each failed probe doubles the wait, up to a minute. One success, a whole
 * reply, closes it.
 */
export class Breaker implements BreakerState {
  private readonly clock: Clock;
  /** Called when it opens and when it closes. */
  private readonly onChange: (state: "open" | "closed", reason: string) => void;
  private inRow = 0;
  private readonly counts: Record<string, number> = {};
  private last: Failure | undefined = undefined;
  private openUntilMs = 0;
  private failedProbes = 0;
  private probing = false;

  constructor(clock: Clock, onChange: (state: "open" | "closed", reason: string) => void) {
    this.clock = clock;
    this.onChange = onChange;
  }

  /** Returns true if the upstream may be tried now. `begin` then takes the probe. */
  get allows(): boolean {
    if (this.inRow < FAILURES_TO_OPEN) return true;
    return !this.probing && this.clock.monotonic() >= this.openUntilMs;
  }

  get state(): "closed" | "open" | "probing" {
    if (this.inRow < FAILURES_TO_OPEN) return "closed";
    return this.probing ? "probing" : "open";
  }

  /** Failures since the start of the process. */
  get failures(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  get failuresByCause(): Readonly<Record<string, number>> {
    return this.counts;
  }

  get failuresInRow(): number {
    return this.inRow;
  }

  get lastFailure(): Failure | undefined {
    return this.last;
  }

  /**
   * Milliseconds until an open breaker lets a call through as a probe; 0 if it lets calls through
   * now.
   */
  get retryInMs(): number {
    if (this.inRow < FAILURES_TO_OPEN) return 0;
    return Math.max(0, this.openUntilMs - this.clock.monotonic());
  }

  begin(): void {
    if (this.inRow >= FAILURES_TO_OPEN) this.probing = true;
  }

  succeed(): void {
    if (this.inRow >= FAILURES_TO_OPEN) this.onChange("closed", "a call succeeded");
    this.inRow = 0;
    this.failedProbes = 0;
    this.probing = false;
  }

  /**
   * Counts a failure. `reason` is shown to operators and must not include any content of a call. There are few causes.
   */
  fail(reason = "failed", cause = "other"): void {
    this.note(reason, cause);
    this.inRow++;
    if (this.inRow < FAILURES_TO_OPEN) return;
    if (this.probing) this.failedProbes++;
    this.probing = false;
    const waitMs = backoffMs(1 + this.failedProbes, OPEN_MS, OPEN_MS_MAX);
    this.openUntilMs = this.clock.monotonic() + waitMs;
    if (this.inRow === FAILURES_TO_OPEN) this.onChange("open", reason);
  }

  /**
   * Records a failure that says nothing about the upstream's health, such as a refusal of the
   * gateway's key.
   */
  note(reason: string, cause: string): void {
    this.counts[cause] = (this.counts[cause] ?? 0) + 1;
    this.last = { atMs: this.clock.monotonic(), reason };
  }

  /**
   * Ends a probe without a result: the client left first, for example, or a reply has just begun.
   */
  forget(): void {
    this.probing = false;
  }
}
