import type { BreakerState, Failure } from "../plugin/config.ts";
import { backoffMs } from "../process/backoff.ts";
import type { Clock } from "../process/clock.ts";

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 5_000;
const OPEN_MS_MAX = 60_000;

/**
 * A circuit breaker. After 5 failures in a row it opens; a probe is due each 5 s. One success, a whole reply, closes it.
 * If only a probe succeeded, the next failure opens it again, and probes are due half as often, at least each minute.
 */
export class Breaker implements BreakerState {
  private readonly clock: Clock;
  /** Called when it opens and when it closes. */
  private readonly onChange: (state: "open" | "closed", reason: string) => void;
  private inRow = 0;
  /** How often a probe alone has closed it since a call succeeded. */
  private probesInVain = 0;
  private readonly counts: Record<string, number> = {};
  private last: Failure | undefined = undefined;
  private openUntilMs = 0;
  private probing = false;

  constructor(clock: Clock, onChange: (state: "open" | "closed", reason: string) => void) {
    this.clock = clock;
    this.onChange = onChange;
  }

  /** Returns true if calls may go there. */
  get allows(): boolean {
    return this.inRow < FAILURES_TO_OPEN;
  }

  get state(): "closed" | "open" | "probing" {
    if (this.allows) return "closed";
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

  /** Milliseconds until a probe of an open breaker is due; 0 if it is now, or the breaker is closed. */
  get retryInMs(): number {
    return this.allows ? 0 : Math.max(0, this.openUntilMs - this.clock.monotonic());
  }

  /** A call or a probe begins. One that has no result yet does not delay the next probe. */
  begin(): void {
    if (this.allows) return;
    this.probing = true;
    this.wait();
  }

  private wait(): void {
    const openMs = backoffMs(this.probesInVain + 1, OPEN_MS, OPEN_MS_MAX);
    this.openUntilMs = this.clock.monotonic() + openMs;
  }

  succeed(): void {
    this.probesInVain = 0;
    this.close("a call succeeded", 0);
  }

  /** A probe has succeeded. It was a small one, so calls must show the rest. */
  probed(): void {
    if (this.allows) return;
    this.probesInVain += 1;
    this.close("a probe succeeded", FAILURES_TO_OPEN - 1);
  }

  private close(reason: string, inRow: number): void {
    if (!this.allows) this.onChange("closed", reason);
    this.inRow = inRow;
    this.probing = false;
  }

  /**
   * Counts a failure. `reason` is shown to operators and must not include any content of a call. There are few causes.
   */
  fail(reason = "failed", cause = "other"): void {
    this.note(reason, cause);
    this.inRow++;
    if (this.allows) return;
    this.probing = false;
    this.wait();
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
