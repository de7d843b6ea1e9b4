import type { Limits } from "../plugin/config.ts";
import type { Clock } from "../process/clock.ts";

/**
 * Measures how long the upstream of a call has been silent, except while the gateway does not read it. Only streams
 * have a limit: a reply that is not streamed is silent until it is whole, so the deadline of the call bounds it.
 */
export class Silence {
  private readonly clock: Clock;
  private readonly limits: Limits;
  private heardMs = 0;
  private reads = true;

  constructor(clock: Clock, limits: Limits) {
    this.clock = clock;
    this.limits = limits;
  }

  /** Begins again. Returns the time, on the monotonic clock. */
  begin(): number {
    this.heardMs = this.clock.monotonic();
    return this.heardMs;
  }

  pause(): void {
    this.reads = false;
  }

  resume(): void {
    this.reads = true;
    this.begin();
  }

  /** When the upstream last sent something, on the monotonic clock. */
  get heardAtMs(): number {
    return this.heardMs;
  }

  get ms(): number {
    return this.clock.monotonic() - this.heardMs;
  }

  /** Returns the limit in milliseconds if the silence has reached it. */
  reached(nowMs: number, hasFirstByte: boolean): number | undefined {
    const limitMs = hasFirstByte ? this.limits.idleMs : this.limits.firstByteMs;
    return this.reads && nowMs - this.heardMs >= limitMs ? limitMs : undefined;
  }
}
