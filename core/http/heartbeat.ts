/** After the first sign of life come others, each after this part of the first wait. */
const PARTS = 4;

/** Says when a silent stream needs a sign of life: after `firstMs`, then each quarter of it. */
export class Heartbeat {
  private readonly firstMs: number;
  private sinceMs = 0;
  private hasBeaten = false;

  /** `firstMs` is infinite if no stream gets any. */
  constructor(firstMs: number) {
    this.firstMs = firstMs;
  }

  /** Begins again: the stream was not silent. */
  restart(nowMs: number): void {
    this.sinceMs = nowMs;
    this.hasBeaten = false;
  }

  /** Returns true if one is due, and counts it as sent. `startedMs`: when the call began. */
  isDue(nowMs: number, startedMs: number): boolean {
    if (this.sinceMs === 0) this.sinceMs = startedMs;
    const waitMs = this.hasBeaten ? this.firstMs / PARTS : this.firstMs;
    if (nowMs - this.sinceMs < waitMs) return false;
    this.sinceMs = nowMs;
    this.hasBeaten = true;
    return true;
  }
}
