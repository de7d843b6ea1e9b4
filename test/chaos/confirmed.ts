import { setTimeout as delay } from "node:timers/promises";
import type postgres from "postgres";
import type { ClientCall } from "./call.ts";
import { type Allowance, allowanceOf } from "./losses.ts";

const POLL_MS = 100;
/** A client sees the last byte of its reply up to this long after its call was posted. */
const READER_LAG_MS = 2_000;

/** Checks which calls with a whole reply have reached the ledger. */
export class Confirmed {
  /** Calls before this index are in `waiting` or in the ledger. */
  private next = 0;
  private waiting: ClientCall[] = [];
  /** The ledger has had everything that was posted before. */
  private throughMs = 0;

  /** Calls that `allowances` cover may be in no record. */
  constructor(
    private readonly sql: postgres.Sql,
    private readonly calls: readonly ClientCall[],
    private readonly allowances: readonly Allowance[],
  ) {}

  /**
   * Waits until the ledger has every call with a whole reply that was posted before `atMs`. Returns
   * false on timeout.
   */
  async through(atMs: number, limitMs: number): Promise<boolean> {
    if (atMs <= this.throughMs) return true;
    const deadline = performance.now() + limitMs;
    const seenMs = atMs + READER_LAG_MS;
    await delay(Math.max(0, seenMs - Date.now()));
    for (;;) {
      const isThere = await this.look(seenMs).catch(() => false);
      if (isThere) {
        this.throughMs = Math.max(this.throughMs, atMs);
        return true;
      }
      if (performance.now() > deadline) return false;
      await delay(POLL_MS);
    }
  }

  private async look(seenMs: number): Promise<boolean> {
    for (; this.next < this.calls.length; this.next += 1) {
      const call = this.calls[this.next];
      if (call?.end === "whole") this.waiting.push(call);
    }
    this.waiting = this.waiting.filter((call) => !allowanceOf(call, this.allowances));
    const asked = this.waiting.filter((call) => call.endedMs <= seenMs);
    if (asked.length === 0) return true;
    const ids = asked.flatMap((call) => call.id ?? []);
    // A charge that an older version could not read is in the ledger's quarantine, and safe there.
    const rows = await this.sql<{ call_id: string }[]>`
      select call_id::text from usage_records where call_id = any(${ids}::uuid[])
      union all select call_id from quarantine where call_id = any(${ids}::text[])`;
    const found = new Set(rows.map((row) => row.call_id));
    this.waiting = this.waiting.filter((call) => !found.has(call.id ?? ""));
    return asked.every((call) => found.has(call.id ?? ""));
  }
}
