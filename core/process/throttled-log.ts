import type { Log } from "./log.ts";

const EVERY_MS = 10_000;

interface ThrottleOptions {
  /** At most one line per message in this time. */
  readonly everyMs?: number;
  readonly nowMs?: () => number;
}

/**
 * Throttles lines that an outage would repeat for every call. Logs the first at once, then at most one per message and
 * 10 s, with the number of lines left out. So a store that is down does not fill the disk.
 */
export class ThrottledLog {
  private readonly lines = new Map<string, { atMs: number; suppressed: number }>();

  constructor(
    private readonly log: Log,
    private readonly options: ThrottleOptions = {},
  ) {}

  /** `message` must be a constant: lines are throttled by message, and each message is kept in memory. */
  warn(fields: object, message: string): void {
    this.write("warn", fields, message);
  }

  info(fields: object, message: string): void {
    this.write("info", fields, message);
  }

  private write(level: "warn" | "info", fields: object, message: string): void {
    const { everyMs = EVERY_MS, nowMs: now = () => performance.now() } = this.options;
    const nowMs = now();
    const before = this.lines.get(message);
    if (before !== undefined && nowMs - before.atMs < everyMs) {
      before.suppressed += 1;
      return;
    }
    this.lines.set(message, { atMs: nowMs, suppressed: 0 });
    // The number of lines left out since the last one, if any.
    const suppressed = before?.suppressed ? { suppressed: before.suppressed } : {};
    this.log[level]({ ...fields, ...suppressed }, message);
  }
}
