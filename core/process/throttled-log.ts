import type { Log } from "./log.ts";

const EVERY_MS = 10_000;

/**
 * Throttles lines that an outage would repeat at every call or every second: the first at once, then at most one per
 * message and 10 s, with the number of lines left out. A store that is down must not fill the disk.
 */
export class ThrottledLog {
  private readonly log: Log;
  private readonly nowMs: () => number;
  private readonly lines = new Map<string, { atMs: number; suppressed: number }>();

  constructor(log: Log, nowMs: () => number = () => performance.now()) {
    this.log = log;
    this.nowMs = nowMs;
  }

  /** `message` must be one of a few: lines with the same message are throttled together. */
  warn(fields: object, message: string): void {
    const nowMs = this.nowMs();
    const before = this.lines.get(message);
    if (before !== undefined && nowMs - before.atMs < EVERY_MS) {
      before.suppressed += 1;
      return;
    }
    this.lines.set(message, { atMs: nowMs, suppressed: 0 });
    const suppressed = before?.suppressed;
    this.log.warn(suppressed ? { ...fields, suppressed } : fields, message);
  }
}
