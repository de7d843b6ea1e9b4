import type { Sql } from "../../database/client.ts";
import type { Parameter } from "../../database/database.ts";
import { idTime, isId } from "../../process/id.ts";
import type { CallSearch, FoundCalls, UsageQuery } from "../ledger.ts";
import { filledIn } from "../tariff.ts";
import { type UsageRecord, usageColumns, usageFieldList } from "../usage-fields.ts";

const SELECT_FROM = `select ${usageColumns(usageFieldList, "record")} from`;
const SELECT = `${SELECT_FROM} usage_records record`;
const ORDER = "order by at desc, call_id desc limit $2";

/** A call's id has the time of its creation, its record the time of its start: they may differ by this much. */
const CLOCK_SLACK_MS = 60_000;
const NO_LATER_MS = Date.UTC(2200, 0);

/**
 * Finds a call by the time in its id, which nearly always is its start: one row of the primary key. Only if that fails,
 * reads the index entries of two minutes.
 */
const BY_ID = `
  (${SELECT} where call_id = $1 and at = $2)
  union all
  (${SELECT} where call_id = $1 and at between $3 and $4)
  limit 1`;

/** Returns the calls of an account, newest first. */
export async function usage(sql: Pick<Sql, "query">, query: UsageQuery): Promise<UsageRecord[]> {
  const { accountId, limit, before } = query;
  const parameters: Parameter[] = [accountId, limit];
  let where = "where account_id = $1";
  if (before !== undefined) {
    parameters.push(before.at, before.callId);
    // The first condition excludes the partitions of later months.
    where += " and at <= $3 and (at, call_id) < ($3, $4)";
  }
  const records = await sql.query<UsageRecord>(`${SELECT} ${where} ${ORDER}`, parameters);
  return records.map(filledIn);
}

/** Maximum calls that one search reads. They take tens of milliseconds. */
const SEARCHED_MAX = 20_000;

/**
 * Reads the newest calls in the order of an index, of an account, of all, or of those below cost, and keeps those that pass
 * the other filters. So no other filter needs an index of its own, and the time is bounded however rare the matches are.
 */
export async function searchCalls(
  sql: Pick<Sql, "query">,
  search: CallSearch,
): Promise<FoundCalls> {
  const { accountId, keyId, model, upstream, status, cost } = search;
  const { from, to, before, limit } = search;
  const parameters: Parameter[] = [];
  const given = (value: Parameter) => `$${parameters.push(value)}`;
  const read: string[] = [];
  if (cost === "below") read.push("provider_cost > charged");
  else if (accountId !== undefined) read.push(`account_id = ${given(accountId)}`);
  if (from) read.push(`at >= ${given(from)}`);
  if (to) read.push(`at < ${given(to)}`);
  if (before) {
    const at = given(before.at);
    read.push(`at <= ${at} and (at, call_id) < (${at}, ${given(before.callId)})`);
  }
  const calls = `from usage_records ${whereAll(read)} order by at desc, call_id desc`;
  const own = [...parameters];
  const kept: string[] = [];
  if (cost === "below" && accountId !== undefined) kept.push(`account_id = ${given(accountId)}`);
  if (keyId !== undefined) kept.push(`key_id = ${given(keyId)}`);
  if (model !== undefined) kept.push(`model = ${given(model)}`);
  if (upstream === "-") kept.push("upstream is null");
  else if (upstream !== undefined) kept.push(`upstream = ${given(upstream)}`);
  if (cost === "unknown") kept.push("provider_cost is null");
  if (status === "failed") kept.push("(status <> 200 or outcome = 'broken')");
  else if (status !== undefined) kept.push(`status = ${given(status)}`);
  const found = await sql.query<UsageRecord>(
    `${SELECT_FROM} (select * ${calls} limit ${SEARCHED_MAX}) record
    ${whereAll(kept)} order by at desc, call_id desc limit ${limit}`,
    parameters,
  );
  const records = found.map(filledIn);
  const last = records.at(-1);
  if (last && records.length === limit) {
    return { records, next: { at: last.at, callId: last.callId } };
  }
  const [next] = await sql.query<{ at: Date; callId: string }>(
    `select at, call_id as "callId" ${calls} limit 1 offset ${SEARCHED_MAX - 1}`,
    own,
  );
  return { records, next };
}

function whereAll(conditions: readonly string[]): string {
  return conditions.length > 0 ? `where ${conditions.join(" and ")}` : "";
}

/** Returns the record of a call; undefined if there is none. */
export async function callById(
  sql: Pick<Sql, "query">,
  callId: string,
): Promise<UsageRecord | undefined> {
  const madeAtMs = idTime(callId);
  // No call has such a late time, and Postgres may refuse it.
  if (madeAtMs > NO_LATER_MS) return undefined;
  const [record] = await sql.query<UsageRecord>(BY_ID, [
    callId,
    new Date(madeAtMs),
    new Date(madeAtMs - CLOCK_SLACK_MS),
    new Date(madeAtMs + CLOCK_SLACK_MS),
  ]);
  return record && filledIn(record);
}

/**
 * Returns true if a call is committed or in quarantine. Compares ids as text: an id in quarantine need not be a UUID. Of an
 * archived month only the charge is left.
 */
export async function hasCall(
  sql: Sql,
  { callId, at }: { readonly callId: string; readonly at: number },
): Promise<boolean> {
  const [found] = await sql.query<{ known: boolean }>(
    `select exists (select from usage_records where at = $2 and call_id::text = $1)
      or exists (select from quarantine where call_id = $1)
      or exists (select from ledger_entries where call_id = $3::text::uuid) as known`,
    [callId, new Date(at), isId(callId) ? callId : null],
  );
  return found?.known ?? false;
}

/**
 * Returns the ids of calls with nothing left to commit, of a batch in JSON: the ledger has the charge. A free call has none: it
 * has the record, or the records of its month are in the files of the operator and take no other. A crash or a second gateway
 * commits such calls again.
 */
export async function repeatedCalls(
  sql: Pick<Sql, "query">,
  batch: string,
): Promise<ReadonlySet<string>> {
  const rows = await sql.query<{ id: string }>(
    `select call_id::text as id
    from json_to_recordset($1::text::json) call (call_id uuid, at timestamptz, charged bigint)
    where case
      when charged > 0 then exists (select from ledger_entries entry where entry.call_id = call.call_id)
      else exists (
        select from usage_records record where record.at = call.at and record.call_id = call.call_id
      ) or exists (
        select from archived_months
        where month = to_char(call.at at time zone 'UTC', 'YYYY-MM') and state <> 'closed'
      )
    end`,
    [batch],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Makes the partitions of the month of `now` and of `monthsAhead` months after it. With `isLong`, however long the disk takes;
 * a lock is waited for as briefly as ever.
 */
export async function makeUsagePartitions(
  sql: Sql,
  now: Date,
  monthsAhead: number,
  { isLong = false } = {},
): Promise<void> {
  for (let month = 0; month <= monthsAhead; month += 1) {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month));
    const at = first.toISOString();
    await sql.script(`select make_usage_partition('${at}')`, { isLong });
  }
}

/** Makes the partition of a time, if it is missing. */
export async function makeUsagePartition(sql: Sql, at: string): Promise<void> {
  await sql.query("select make_usage_partition($1::text::timestamptz)", [at]);
}
