import type { Database } from "../database/database.ts";
import { callById } from "../money/ledger/usage.ts";
import { filledIn } from "../money/tariff.ts";
import { type CustomerRecord, fieldsIn, type UsageRecord } from "../money/usage-fields.ts";
import type { UsageFilter, UsagePage } from "./books.ts";
import { pageStatement } from "./usage-page-statement.ts";

/** Returns the calls of an account that pass the filter and are older than the cursor, newest first. */
export async function callPage(
  database: Database,
  { accountId, filter, limit, before }: UsagePage,
): Promise<CustomerRecord[]> {
  const statuses = await statusesOf(database, filter);
  if (statuses.length === 0) return [];
  const { text, parameters } = pageStatement(accountId, filter, statuses, limit, before);
  return (await database.query<CustomerRecord>(text, parameters)).map(filledIn);
}

/** Returns the statuses that a filter selects; undefined stands for all. */
async function statusesOf(
  database: Database,
  { status }: UsageFilter,
): Promise<(number | undefined)[]> {
  return status === "failed" ? failedStatuses(database) : [status === "ok" ? 200 : status];
}

export async function failedStatuses(database: Database): Promise<number[]> {
  // Lists the statuses of all accounts: there are few, and each takes one step in the index of failed calls.
  const rows = await database.query<{ status: number }>(
    `with recursive seen (status) as (
      (select status from usage_records where status <> 200 order by status limit 1)
      union all
      select (
        select status from usage_records where status <> 200 and status > seen.status order by status limit 1
      )
      from seen where seen.status is not null
    )
    select status from seen where status is not null`,
  );
  return rows.map((row) => row.status);
}

/** Returns a committed call of an account; undefined if there is none. */
export async function callOf(
  database: Database,
  accountId: string,
  callId: string,
  member: string | undefined,
): Promise<CustomerRecord | undefined> {
  const record = await callById(database, callId);
  if (record?.accountId !== accountId) return undefined;
  if (member !== undefined) {
    const ofMember = "select from api_keys where id = $1 and member_id = $2";
    if ((await database.query(ofMember, [record.keyId, member])).length === 0) return undefined;
  }
  return customerRecordOf(record);
}

const CUSTOMER_FIELDS = fieldsIn("api").map(({ name }) => name);

/** Keeps only the fields that customers may see. The cast is safe: type and list come from one table. */
function customerRecordOf(record: UsageRecord): CustomerRecord {
  const shown = CUSTOMER_FIELDS.map((name) => [name, record[name]] as const);
  return Object.fromEntries(shown) as CustomerRecord;
}
