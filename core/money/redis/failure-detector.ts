interface Seen {
  beat: string;
  sinceMs: number;
  seenAtMs: number;
}

/**
 * Detects silent processes by this process's own monotonic clock; clocks of two machines are never compared. Silence
 * counts only while this process itself looks at least every half lease. So neither a suspend of this process nor an
 * outage of Redis makes another process look dead.
 */
export class FailureDetector {
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly leaseMs: number) {}

  /** Records a heartbeat ("" for none). Returns true if it has not changed for a lease. */
  isSilent(process: string, beat: string, nowMs: number): boolean {
    const seen = this.seen.get(process);
    if (!seen || seen.beat !== beat || nowMs - seen.seenAtMs > this.leaseMs / 2) {
      this.seen.set(process, { beat, sinceMs: nowMs, seenAtMs: nowMs });
      return false;
    }
    seen.seenAtMs = nowMs;
    return nowMs - seen.sinceMs >= this.leaseMs;
  }

  forget(process: string): void {
    this.seen.delete(process);
  }

  forgetAll(): void {
    this.seen.clear();
  }
}
