import { type ClientCall, PATIENCE_MS } from "./call.ts";
import type { Violation } from "./evidence.ts";

/**
 * The lease of a dead gateway, and outages in which no gateway can end it: several faults may follow
 * each other.
 */
export const OUTLIVES_MS_MAX = 120_000;
/** A hold that was not seen for longer was gone, and came back with an old snapshot of Redis. */
const GONE_MS = 30_000;

/** Compares the holds in Redis with the calls that their clients still wait for. */
export class HoldWatch {
  readonly violations: Violation[] = [];
  longestMs = 0;
  private next = 0;
  /** When the client of a call saw its end. */
  private readonly endedMs = new Map<string, number>();
  private readonly seen = new Map<string, { fromMs: number; untilMs: number }>();
  private readonly overdue = new Set<string>();

  constructor(private readonly calls: readonly ClientCall[]) {}

  /** `ids`: the calls that hold money at `nowMs`. */
  look(ids: readonly string[], nowMs: number): void {
    for (; this.next < this.calls.length; this.next += 1) {
      const { id, endedMs } = this.calls[this.next]!;
      if (id !== undefined) this.endedMs.set(id, endedMs);
    }
    for (const id of ids) {
      const before = this.seen.get(id);
      const fromMs = before && nowMs - before.untilMs < GONE_MS ? before.fromMs : nowMs;
      this.seen.set(id, { fromMs, untilMs: nowMs });
      // A client without a reply does not know the id of its call; it waited this long at most.
      const endMs = this.endedMs.get(id) ?? fromMs + PATIENCE_MS;
      const outlivesMs = nowMs - Math.max(endMs, fromMs);
      this.longestMs = Math.max(this.longestMs, outlivesMs);
      if (outlivesMs <= OUTLIVES_MS_MAX || this.overdue.has(id)) continue;
      this.overdue.add(id);
      const what = `held ${Math.round(outlivesMs / 1_000)} s after the end of ${id}`;
      this.violations.push({ rule: "no hold outlives its call", what, callId: id });
    }
  }
}
