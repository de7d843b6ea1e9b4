interface Seen {
  beat: string;
  sinceMs: number;
  seenAtMs: number;
}

/**
 * Tells which other processes are silent, by this process's own monotonic clock: no two clocks are compared.
 * Silence counts only while this process has looked regularly itself, so that neither its own sleep nor an
 * outage of Redis, in which nobody could be heard, makes anyone look dead.
 */
export class FailureDetector {
  private readonly seen = new Map<string, Seen>();
  private readonly leaseMs: number;

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs;
  }

  /** Notes a heartbeat ("" for none at all); true where it has not changed for the length of a lease. */
  isSilent(process: string, beat: string, nowMs: number): boolean {
    const seen = this.seen.get(process);
    if (!seen || seen.beat !== beat || nowMs - seen.seenAtMs > this.leaseMs / 2) {
      this.seen.set(process, { beat, sinceMs: nowMs, seenAtMs: nowMs });
      return false;
    }
    seen.seenAtMs = nowMs;
    return nowMs - seen.sinceMs >= this.leaseMs;
  }

  /** Goes on under another name, with "" for its heartbeat: the silence so far counts. */
  rename(process: string, name: string): void {
    const seen = this.seen.get(process);
    this.seen.delete(process);
    if (seen !== undefined) this.seen.set(name, { ...seen, beat: "" });
  }

  forget(process: string): void {
    this.seen.delete(process);
  }
}
