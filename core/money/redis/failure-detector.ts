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
  private readonly leaseMs: number;

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs;
  }

  /**
   * Records a heartbeat ("" for none). Returns true if it has not changed for a lease. A process that was not watched
   * before counts as silent since `sinceMs`.
   */
  isSilent(process: string, beat: string, nowMs: number, sinceMs: number = nowMs): boolean {
    const seen = this.seen.get(process);
    if (!seen || nowMs - seen.seenAtMs > this.leaseMs / 2) {
      this.seen.set(process, { beat, sinceMs, seenAtMs: nowMs });
      return false;
    }
    if (seen.beat !== beat) {
      this.seen.set(process, { beat, sinceMs: nowMs, seenAtMs: nowMs });
      return false;
    }
    seen.seenAtMs = nowMs;
    return nowMs - seen.sinceMs >= this.leaseMs;
  }

  /** Returns when the heartbeat of a process changed last, as far as it was watched. */
  sinceMs(process: string): number | undefined {
    return this.seen.get(process)?.sinceMs;
  }

  /** Moves a process to another name, with "" as its heartbeat. Its silence so far counts. */
  rename(process: string, name: string): void {
    const seen = this.seen.get(process);
    this.seen.delete(process);
    if (seen !== undefined) this.seen.set(name, { ...seen, beat: "" });
  }

  forget(process: string): void {
    this.seen.delete(process);
  }
}
