import type { Parameter } from "../../contract/database.ts";
import type { UsageQuery, UsageRecord } from "../../contract/ledger.ts";
import type { Sql } from "../../database/client.ts";

const SELECT = `
  select
    call_id as "callId", key_id as "keyId", at, endpoint, model, mapped_from as "mappedFrom", upstream,
    input_tokens::float8 as "inputTokens", cache_read_tokens::float8 as "cacheReadTokens",
    cache_write_tokens::float8 as "cacheWriteTokens", output_tokens::float8 as "outputTokens",
    reasoning_tokens::float8 as "reasoningTokens", images, charged as "chargedMicroVnd",
    written_off as "writtenOffMicroVnd", discount_bps as "discountBps", latency_ms as "latencyMs",
    first_byte_ms as "firstByteMs", status, streamed, outcome, estimated
  from usage_records
  where account_id = $1`;
const ORDER = "order by at desc, call_id desc limit $2";

/** The calls of an account, newest first. */
export function usage(sql: Sql, query: UsageQuery): Promise<UsageRecord[]> {
  const { accountId, limit, before } = query;
  const parameters: Parameter[] = [accountId, limit];
  if (before === undefined) return sql.query(`${SELECT} ${ORDER}`, parameters);
  parameters.push(before.at, before.callId);
  return sql.query(`${SELECT} and (at, call_id) < ($3, $4) ${ORDER}`, parameters);
}

/** Whether a call is settled, or in quarantine. Text, since what is in quarantine may be anything. */
export async function hasCall(
  sql: Sql,
  { callId, at }: { readonly callId: string; readonly at: number },
): Promise<boolean> {
  const [found] = await sql.query<{ known: boolean }>(
    `select exists (select from usage_records where at = $2 and call_id::text = $1)
      or exists (select from quarantine where call_id = $1) as known`,
    [callId, new Date(at)],
  );
  return found?.known ?? false;
}

/** Makes the partition of `now` and of each of the months that follow. */
export async function makeUsagePartitions(sql: Sql, now: Date, monthsAhead: number): Promise<void> {
  for (let month = 0; month <= monthsAhead; month += 1) {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month));
    await makeUsagePartition(sql, first.toISOString());
  }
}

/** Makes the partition of a time, where there is none. */
export async function makeUsagePartition(sql: Sql, at: string): Promise<void> {
  await sql.query("select make_usage_partition($1::text::timestamptz)", [at]);
}
