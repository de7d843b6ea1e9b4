import type { Sql } from "./client.ts";
import type { UsageQuery, UsageRecord } from "./ledger.ts";

/** The columns of `usage_records` with their types, in the order in which a batch is settled. */
export const usageColumns = [
  ["call_id", "uuid"],
  ["at", "timestamptz"],
  ["account_id", "uuid"],
  ["key_id", "uuid"],
  ["endpoint", "text"],
  ["model", "text"],
  ["mapped_from", "text"],
  ["upstream", "text"],
  ["input_tokens", "bigint"],
  ["cache_read_tokens", "bigint"],
  ["cache_write_tokens", "bigint"],
  ["output_tokens", "bigint"],
  ["reasoning_tokens", "bigint"],
  ["images", "integer"],
  ["charged", "bigint"],
  ["written_off", "bigint"],
  ["discount_bps", "integer"],
  ["latency_ms", "double precision"],
  ["first_byte_ms", "double precision"],
  ["status", "smallint"],
  ["streamed", "boolean"],
  ["outcome", "text"],
  ["estimated", "boolean"],
] as const;

/** The calls of an account, newest first. */
export async function usage(sql: Sql, query: UsageQuery): Promise<UsageRecord[]> {
  const { accountId, limit, before } = query;
  const records = await sql<UsageRecord[]>`
    select
      call_id as "callId", key_id as "keyId", at, endpoint, model, mapped_from as "mappedFrom", upstream,
      input_tokens::float8 as "inputTokens", cache_read_tokens::float8 as "cacheReadTokens",
      cache_write_tokens::float8 as "cacheWriteTokens", output_tokens::float8 as "outputTokens",
      reasoning_tokens::float8 as "reasoningTokens", images, charged as "chargedMicroVnd",
      written_off as "writtenOffMicroVnd", discount_bps as "discountBps", latency_ms as "latencyMs",
      first_byte_ms as "firstByteMs", status, streamed, outcome, estimated
    from usage_records
    where account_id = ${accountId}
      ${before === undefined ? sql`` : sql`and (at, call_id) < (${before.at}, ${before.callId})`}
    order by at desc, call_id desc
    limit ${limit}`;
  return [...records];
}

/** Makes the partition of `now` and of each of the months that follow. */
export async function makeUsagePartitions(sql: Sql, now: Date, monthsAhead: number): Promise<void> {
  for (let month = 0; month <= monthsAhead; month += 1) {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month));
    await sql`select make_usage_partition(${first})`;
  }
}
