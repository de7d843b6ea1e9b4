import type { Database } from "../../contract/database.ts";
import { filledIn } from "../../contract/tariff.ts";
import type { UsageFilter, UsagePage } from "../../contract/usage-books.ts";
import { type CustomerRecord, fieldsIn, type UsageRecord } from "../../contract/usage-fields.ts";
import { dayOf, endOfDay, startOfDay } from "../../contract/vietnam-day.ts";
import { callById } from "./usage.ts";
import { pageStatement } from "./usage-page-statement.ts";

type Queries = Pick<Database, "query">;

/** The newest calls of an account that pass the filter, older than the cursor, newest first. */
export async function callPage(
  database: Queries,
  { accountId, filter, limit, before }: UsagePage,
): Promise<CustomerRecord[]> {
  const narrowed = await narrow(database, accountId, filter);
  if (!narrowed) return [];
  const statuses = await statusesOf(database, filter);
  if (statuses.length === 0) return [];
  const { text, parameters } = pageStatement(accountId, narrowed, statuses, limit, before);
  return (await database.query<CustomerRecord>(text, parameters)).map(filledIn);
}

/** The statuses that a filter asks for; undefined stands for all of them. */
async function statusesOf(
  database: Queries,
  { status }: UsageFilter,
): Promise<(number | undefined)[]> {
  if (status !== "failed") return [status === "ok" ? 200 : status];
  // Those of any account: there are few, and each takes one step of an index. To ask for "not 200" instead would
  // read call after call where nearly all of them are 200.
  const rows = await database.query<{ status: number }>(
    `with recursive seen (status) as (
      (select status from usage_records order by status limit 1)
      union all
      select (select status from usage_records where status > seen.status order by status limit 1)
      from seen where seen.status is not null
    )
    select status from seen where status <> 200`,
  );
  return rows.map((row) => row.status);
}

/**
 * A filter by model and key, with its period cut to the days on which the key has called the model; undefined where
 * there are none. Either index would find calls of the one and drop them for the other: a key for one model, asked
 * for another, would have all of its calls read.
 */
async function narrow(
  database: Queries,
  accountId: string,
  filter: UsageFilter,
): Promise<UsageFilter | undefined> {
  const { model, key, from, to } = filter;
  if (model === undefined || key === undefined) return filter;
  const [days] = await database.query<{ first: string | null; last: string | null }>(
    `select min(day)::text as first, max(day)::text as last
    from usage_daily
    where account_id = $1 and model = $2 and key_id = $3 and day between $4 and $5`,
    [accountId, model, key, dayOf(from ?? FIRST_DAY), dayOf(to ?? LAST_DAY)],
  );
  if (!days?.first || !days.last) return undefined;
  const [start, end] = [startOfDay(days.first), endOfDay(days.last)];
  return { ...filter, from: from && from > start ? from : start, to: to && to < end ? to : end };
}

/** Before and after all calls. */
const FIRST_DAY = new Date(0);
const LAST_DAY = new Date(Date.UTC(2200, 0));

/** One call of an account; undefined if it has none of that id, or not yet. */
export async function callOf(
  database: Queries,
  accountId: string,
  callId: string,
): Promise<CustomerRecord | undefined> {
  const record = await callById(database, callId);
  return record?.accountId === accountId ? customerRecordOf(record) : undefined;
}

const CUSTOMER_FIELDS = fieldsIn("api").map(({ name }) => name);

/** Leaves out what the type leaves out: both are made from one table. */
function customerRecordOf(record: UsageRecord): CustomerRecord {
  const shown = CUSTOMER_FIELDS.map((name) => [name, record[name]] as const);
  return Object.fromEntries(shown) as CustomerRecord;
}
