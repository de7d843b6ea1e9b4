import type { OutboxEntry } from "../hot/hot.ts";
import { type Sql, sqlState } from "./client.ts";
import { EntryRefused } from "./ledger.ts";
import { makeUsagePartition } from "./usage.ts";

/** Outside these years a start of a call is a fault, and would only make partitions that nobody wants. */
const AT_MIN = Date.UTC(2020, 0);
const AT_MAX = Date.UTC(2100, 0);

/** Settles batches, each in one transaction: see `settle_calls` in the migrations. */
export function createSettle(sql: Sql): (entries: readonly OutboxEntry[]) => Promise<void> {
  /** Months whose partition is known to be there: `2025-01` and so on. */
  const months = new Set<string>();

  async function makePartitions(rows: readonly UsageRow[]): Promise<void> {
    for (const { at } of rows) {
      const month = at.slice(0, 7);
      if (months.has(month)) continue;
      await makeUsagePartition(sql, at);
      months.add(month);
    }
  }

  return async (entries) => {
    const rows = rowsOf(entries);
    if (rows.length === 0) return;
    const accountIds = [...new Set(rows.map((row) => row.account_id))];
    try {
      await makePartitions(rows);
      await sql.query("select settle_calls($1::text::uuid[], $2::text::json)", [
        `{${accountIds.join(",")}}`,
        JSON.stringify(rows),
      ]);
    } catch (error) {
      throw isRefusal(error) ? new EntryRefused(String(error), { cause: error }) : error;
    }
  };
}

type UsageRow = ReturnType<typeof rowOf>;

/** The rows of a batch, each call once: the first post of a call counts. */
function rowsOf(entries: readonly OutboxEntry[]): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const entry of entries) {
    if (!rows.has(entry.posting.callId)) rows.set(entry.posting.callId, rowOf(entry));
  }
  return [...rows.values()];
}

/** Under the names of the columns, as `settle_calls` reads them. */
function rowOf({ posting, chargedMicroVnd, writtenOffMicroVnd }: OutboxEntry) {
  if (!(posting.at >= AT_MIN && posting.at < AT_MAX)) {
    throw new EntryRefused(`call ${posting.callId} began at ${posting.at}, which is no time`);
  }
  return {
    call_id: posting.callId,
    at: new Date(posting.at).toISOString(),
    account_id: posting.accountId,
    key_id: posting.keyId,
    endpoint: posting.endpoint,
    model: posting.model,
    mapped_from: posting.mappedFrom === null ? null : storable(posting.mappedFrom),
    upstream: posting.upstream,
    input_tokens: posting.inputTokens,
    cache_read_tokens: posting.cacheReadTokens,
    cache_write_tokens: posting.cacheWriteTokens,
    output_tokens: posting.outputTokens,
    reasoning_tokens: posting.reasoningTokens,
    images: posting.images,
    charged: chargedMicroVnd,
    written_off: writtenOffMicroVnd,
    discount_bps: posting.discountBps,
    latency_ms: posting.latencyMs,
    first_byte_ms: posting.firstByteMs,
    status: posting.status,
    streamed: posting.streamed,
    outcome: posting.outcome,
    estimated: posting.estimated,
  };
}

/** A name as the caller sent it, without what Postgres cannot store: zero bytes and half surrogate pairs. */
function storable(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8").replaceAll("\0", "");
}

/** Bad data (class 22) and broken constraints (23): the same batch would fail again. */
function isRefusal(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith("22") || state.startsWith("23"));
}
