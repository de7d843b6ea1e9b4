import type { Database, Parameter } from "../database/database.ts";
import { dayOf } from "../process/vietnam-day.ts";
import type { RefusedCall, RefusedCalls, RefusedCount, UsageFilter } from "./books.ts";

/** Number of refused calls that are kept for an account. */
export const LAST_REFUSED_CALLS = 20;
const COUNTS_MAX = 1_000;

type Queries = Pick<Database, "query">;

/** Counts of one account, and its last refused calls, newest first. */
export interface RefusedBatch {
  readonly accountId: string;
  readonly counts: readonly RefusedCount[];
  readonly last: readonly RefusedCall[];
}

/** Adds counts of refused calls. If the reply of the database is lost, a repetition counts them twice. */
export async function addRefusedCalls(
  database: Queries,
  batches: readonly RefusedBatch[],
): Promise<void> {
  const counts = batches.flatMap(({ accountId, counts }) =>
    counts.map((count) => ({
      account_id: accountId,
      day: count.day,
      key_id: count.keyId,
      status: count.status,
      cause: count.cause,
      calls: count.calls,
      last_at: count.lastAt,
    })),
  );
  const last = batches.map(({ accountId, last }) => ({ account_id: accountId, calls: last }));
  // Always in the same order, so that two processes never wait for each other.
  await database.query(
    `with counted as (
      insert into refused_calls as total (account_id, day, key_id, status, cause, calls, last_at)
      select * from jsonb_to_recordset($1::text::jsonb) as new (
        account_id uuid, day date, key_id uuid, status smallint, cause text, calls bigint, last_at timestamptz
      )
      order by account_id, day, key_id, status, cause
      on conflict (account_id, day, key_id, status, cause) do update set
        calls = total.calls + excluded.calls,
        last_at = greatest(total.last_at, excluded.last_at)
    )
    insert into last_refused_calls as kept (account_id, calls)
    select * from jsonb_to_recordset($2::text::jsonb) as new (account_id uuid, calls jsonb)
    order by account_id
    on conflict (account_id) do update set
      calls = jsonb_path_query_array(excluded.calls || kept.calls, '$[0 to ${LAST_REFUSED_CALLS - 1}]')`,
    [JSON.stringify(counts), JSON.stringify(last)],
  );
}

/** Deletes counts of days before this one. */
export async function dropRefusedCalls(database: Queries, before: Date): Promise<void> {
  await database.query("delete from refused_calls where day < $1", [dayOf(before)]);
}

/** Returns the refused calls of an account that pass the filter, which applies to whole days. */
export async function refusedCalls(
  database: Queries,
  accountId: string,
  filter: UsageFilter,
): Promise<RefusedCalls> {
  if (filter.status === "ok" || filter.status === 200) return { counts: [], last: [] };
  // They are not counted by model: callers could make up any number of names.
  const counts = filter.model === undefined ? await countsOf(database, accountId, filter) : [];
  const [kept] = await database.query<{ calls: StoredCall[] }>(
    "select calls from last_refused_calls where account_id = $1",
    [accountId],
  );
  const last = (kept?.calls ?? [])
    .map((call) => ({ ...call, at: new Date(call.at) }))
    .filter((call) => isWanted(call, filter))
    // Several processes add calls, so they are not in the order of their times.
    .sort((a, b) => b.at.getTime() - a.at.getTime());
  return { counts, last };
}

function countsOf(
  database: Queries,
  accountId: string,
  { from, to, key, status }: UsageFilter,
): Promise<RefusedCount[]> {
  const parameters: Parameter[] = [accountId];
  const conditions = ["account_id = $1"];
  const must = (condition: string, value: Parameter) =>
    conditions.push(`${condition} $${parameters.push(value)}`);
  if (from) must("day >=", dayOf(from));
  if (to) must("day <=", lastDayOf(to));
  if (key !== undefined) must("key_id =", key);
  if (typeof status === "number") must("status =", status);
  return database.query<RefusedCount>(
    `select day::text as day, key_id as "keyId", status, cause, calls::float8 as calls,
      last_at as "lastAt"
    from refused_calls where ${conditions.join(" and ")}
    order by day desc, last_at desc limit ${COUNTS_MAX}`,
    parameters,
  );
}

function isWanted(call: RefusedCall, { from, to, key, model, status }: UsageFilter): boolean {
  const day = dayOf(call.at);
  if ((from && day < dayOf(from)) || (to && day > lastDayOf(to))) return false;
  if (key !== undefined && call.keyId !== key) return false;
  if (model !== undefined && call.model !== model) return false;
  return typeof status !== "number" || call.status === status;
}

/** Returns the last day of a period that ends before this instant. */
function lastDayOf(to: Date): string {
  return dayOf(new Date(to.getTime() - 1));
}

type StoredCall = Omit<RefusedCall, "at"> & { readonly at: string };
