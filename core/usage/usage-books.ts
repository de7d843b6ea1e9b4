import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Database } from "../database/database.ts";
import type { PluginDatabase } from "../database/plugin-database.ts";
import { idTime, isId } from "../process/id.ts";
import { packageRoot } from "../process/root.ts";
import { dayOf } from "../process/vietnam-day.ts";
import type { ModelHealth, UsageBooks, UsageFilter } from "./books.ts";
import { monthStatements } from "./month-statements.ts";
import { refusedCalls } from "./refused-calls.ts";
import { moneyReport, usageReport } from "./report.ts";
import { callOf, callPage } from "./usage-records.ts";
import { statementOf, usageByKey, usageSums } from "./usage-sums.ts";

const INDEXES = pathToFileURL(join(packageRoot, "core/usage/page-indexes/"));
const REPORT_SUMS = pathToFileURL(join(packageRoot, "core/usage/report-sums/"));

/** Reads usage records and their daily sums from Postgres. */
export function usageBooksOf(database: PluginDatabase): UsageBooks {
  return {
    months: monthStatements(database),
    prepare: () => database.migrate("page-indexes", INDEXES),
    page: (query) => callPage(database, query),
    archivedBefore: (accountId, period) => archivedBefore(database, accountId, period),
    archivedCall: (accountId, callId) => archivedCall(database, accountId, callId),
    call: (accountId, callId) => callOf(database, accountId, callId),
    refused: (accountId, filter) => refusedCalls(database, accountId, filter),
    sums: (accountId, by, filter) => usageSums(database, accountId, by, filter),
    statement: (accountId, from, to) => statementOf(database, accountId, from, to),
    byKey: (accountId, keyIds) => usageByKey(database, accountId, keyIds),
    prepareReport: () => database.migrate("report-sums", REPORT_SUMS),
    report: (by, from, to, limit) => usageReport(database, by, from, to, limit),
    money: (from, to) => moneyReport(database, from, to),
    health: (since) => modelHealth(database, since),
  };
}

/**
 * Returns the end of the last archived month that has calls of an account in a period; undefined if there is none. Reads
 * a row for each archived month, and looks for one daily sum of the account in each.
 */
export async function archivedBefore(
  database: Pick<Database, "query">,
  accountId: string,
  { from, to }: Pick<UsageFilter, "from" | "to">,
): Promise<Date | undefined> {
  const [row] = await database.query<{ end: Date | null }>(
    `with archived as (
      select first, first + interval '1 month' as last
      from archived_months, lateral (select (month || '-01')::timestamp) named (first)
      where state <> 'closed'
    )
    select max(last at time zone 'UTC') as "end" from archived
    where first at time zone 'UTC' < $3 and last at time zone 'UTC' > $2 and exists (
      select from usage_daily where account_id = $1
        and day between $4::text::date and $5::text::date
        and day >= (first + interval '7 hours')::date and day <= (last + interval '7 hours')::date
    )`,
    [accountId, from ?? FIRST, to ?? LAST, dayOf(from ?? FIRST), dayOf(lastOf(to ?? LAST))],
  );
  return row?.end ?? undefined;
}

/** Returns the end of the archived months, if they have calls of the account on the day of this id. */
export async function archivedCall(
  database: Pick<Database, "query">,
  accountId: string,
  callId: string,
): Promise<Date | undefined> {
  if (!isId(callId)) return undefined;
  const from = new Date(idTime(callId));
  // No call has such a late time, and Postgres may refuse it.
  if (from >= LAST) return undefined;
  return archivedBefore(database, accountId, { from, to: new Date(from.getTime() + 1) });
}

/** Bounds for a period without them. */
const FIRST = new Date(0);
const LAST = new Date(Date.UTC(2200, 0));

/** Returns the last instant of a period that ends before `end`. */
function lastOf(end: Date): Date {
  return new Date(end.getTime() - 1);
}

/** The newest calls of all accounts that are read: 20 ms. */
const CALLS_MAX = 10_000;

/** Returns how the newest calls since a time ended, by model. */
function modelHealth(database: Pick<Database, "query">, since: Date): Promise<ModelHealth[]> {
  return database.query<ModelHealth>(
    `select model, count(*)::float8 as calls,
      (count(*) filter (where status >= 500 or outcome = 'broken'))::float8 as failed
    from (
      select model, status, outcome from usage_records
      where at >= $1 order by at desc limit ${CALLS_MAX}
    ) newest
    group by model`,
    [since],
  );
}
