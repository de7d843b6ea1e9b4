import type { Log } from "./log.ts";

const EVERY_MS = 10_000;

/**
 * Warns of what strikes every call at once, an outage say: the first at once, then one line in ten seconds that
 * tells how many there were. A store that is away must not fill the disk with what the first line has said.
 */
export class QuietLog {
  private readonly log: Log;
  private readonly nowMs: () => number;
  private readonly said = new Map<string, { atMs: number; unsaid: number }>();

  constructor(log: Log, nowMs: () => number = () => performance.now()) {
    this.log = log;
    this.nowMs = nowMs;
  }

  /** `message` is one of a few: it tells what is the same. */
  warn(fields: object, message: string): void {
    const nowMs = this.nowMs();
    const before = this.said.get(message);
    if (before !== undefined && nowMs - before.atMs < EVERY_MS) {
      before.unsaid += 1;
      return;
    }
    this.said.set(message, { atMs: nowMs, unsaid: 0 });
    this.log.warn({ ...fields, ...(before?.unsaid && { unsaid: before.unsaid }) }, message);
  }
}
