import { setTimeout as delay } from "node:timers/promises";
import type postgres from "postgres";
import type { ClientCall } from "./call.ts";

const POLL_MS = 100;
/** A client sees the last byte of its reply up to this much later than its call was posted. */
const READER_LAG_MS = 2_000;

/** Tells which calls that came whole are in the ledger by now. */
export class Confirmed {
  private readonly sql: postgres.Sql;
  private readonly calls: readonly ClientCall[];
  /** Calls before this one need not be asked for again. */
  private next = 0;
  private waiting: ClientCall[] = [];

  constructor(sql: postgres.Sql, calls: readonly ClientCall[]) {
    this.sql = sql;
    this.calls = calls;
  }

  /** Waits until every call that was posted before `atMs`, and came whole, is in the ledger; false where it is not in time. */
  async through(atMs: number, limitMs: number): Promise<boolean> {
    if (atMs === 0) return true;
    const deadline = performance.now() + limitMs;
    const seenMs = atMs + READER_LAG_MS;
    await delay(Math.max(0, seenMs - Date.now()));
    for (;;) {
      const isThere = await this.look(seenMs).catch(() => false);
      if (isThere) return true;
      if (performance.now() > deadline) return false;
      await delay(POLL_MS);
    }
  }

  private async look(seenMs: number): Promise<boolean> {
    for (; this.next < this.calls.length; this.next += 1) {
      const call = this.calls[this.next];
      if (call?.end === "whole") this.waiting.push(call);
    }
    const asked = this.waiting.filter((call) => call.endedMs <= seenMs);
    if (asked.length === 0) return true;
    const ids = asked.flatMap((call) => call.id ?? []);
    const rows = await this.sql<{ call_id: string }[]>`
      select call_id from usage_records where call_id = any(${ids}::uuid[])`;
    const found = new Set(rows.map((row) => row.call_id));
    this.waiting = this.waiting.filter((call) => !found.has(call.id ?? ""));
    return asked.every((call) => found.has(call.id ?? ""));
  }
}
