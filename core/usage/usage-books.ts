import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Database } from "../database/database.ts";
import type { PluginDatabase } from "../database/migrate.ts";
import { idTime, isId } from "../process/id.ts";
import { packageRoot } from "../process/root.ts";
import { dayOf, lastDayBefore } from "../process/vietnam-day.ts";
import type { ModelHealth, UsageFilter, UsagePage } from "./books.ts";
import { monthStatements } from "./month-statements.ts";
import { movedAfter } from "./moved.ts";
import { refusedCall, refusedCalls } from "./refused-calls.ts";
import { reportsOf } from "./report.ts";
import { callOf, callPage } from "./usage-records.ts";
import { usageSumsOf } from "./usage-sums.ts";

const INDEXES = pathToFileURL(join(packageRoot, "core/usage/page-indexes/"));
const REPORT_SUMS = pathToFileURL(join(packageRoot, "core/usage/report-sums/"));

/** Recorded calls and money, for plugins that show them. A call appears seconds after it ends. */
export type UsageBooks = ReturnType<typeof usageBooksOf>;

export function usageBooksOf(database: PluginDatabase) {
  return {
    /** Statements by month that never change once they are closed. Only for a gateway that has called its `prepare`. */
    months: monthStatements(database),

    /**
     * Creates the indexes that `page` filters by, if they are missing. Call it in the `start` of a plugin that calls
     * `page`. They add to the cost of recording a call, so a gateway without such a plugin does not have them.
     */
    prepare: () => database.migrate("page-indexes", INDEXES),

    /** Returns the newest calls of an account that pass the filter and are older than the cursor, newest first. */
    page: (query: UsagePage) => callPage(database, query),

    /**
     * Returns the instant before which `page` lacks calls of the account in this period, because the operator has
     * archived their months (UTC); undefined if none are archived. Sums have these calls.
     */
    archivedBefore: (accountId: string, period: Pick<UsageFilter, "from" | "to">) =>
      archivedBefore(database, accountId, period),

    /**
     * Returns the end of the archived months, if they have calls of the account on the day of this call's id; else
     * undefined. The ledger cannot say if the call was one of them.
     */
    archivedCall: (accountId: string, callId: string) => archivedCall(database, accountId, callId),

    /**
     * Returns one call of an account; undefined if the account has no such call, or it is not recorded yet. With `member`
     * only a call with a key that this member uses.
     */
    call: (accountId: string, callId: string, member?: string) =>
      callOf(database, accountId, callId, member),

    /**
     * Returns the calls of an account that the gateway refused itself. They appear within seconds, and the counts are
     * kept for 400 days. The filter applies to whole days.
     */
    refused: (accountId: string, filter: UsageFilter) => refusedCalls(database, accountId, filter),

    /** Returns one of the last refused calls of any account, by its id: see `refused`. */
    refusedCall: (callId: string) => refusedCall(database, callId),

    ...usageSumsOf(database),

    /** Creates the sums that `report` and `money` read, if they are missing. They add to the cost of recording a call. */
    prepareReport: () => database.migrate("report-sums", REPORT_SUMS),

    ...reportsOf(database),

    /**
     * Returns how the calls of all accounts since a time ended, by model: of the newest 10,000 if there are more. Models
     * without calls are missing. Takes 20 ms: keep the result for a while.
     */
    health: (since: Date) => modelHealth(database, since),

    /**
     * Returns what the ledger rows after an id have moved, for messages about it: of at most 50,000 rows. Begin without an id:
     * then it starts at the end. Rows of about the last 30 s come again, so that none of a slow transaction is missed.
     * `wallets` lacks accounts that were only charged and still have `belowMicroVnd`.
     */
    moved: (after: bigint | undefined, belowMicroVnd: number) =>
      movedAfter(database, after, belowMicroVnd),
  };
}

/** Reads a row for each archived month, and looks for one daily sum of the account in each. */
export async function archivedBefore(
  database: Database,
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
    [accountId, from ?? FIRST, to ?? LAST, dayOf(from ?? FIRST), lastDayBefore(to ?? LAST)],
  );
  return row?.end ?? undefined;
}

export async function archivedCall(
  database: Database,
  accountId: string,
  callId: string,
): Promise<Date | undefined> {
  if (!isId(callId)) return undefined;
  const from = new Date(idTime(callId));
  // No call has such a late time, and Postgres may refuse it.
  if (from >= LAST) return undefined;
  return archivedBefore(database, accountId, { from, to: new Date(from.getTime() + 1) });
}

const FIRST = new Date(0);
const LAST = new Date(Date.UTC(2200, 0));

/** The newest calls of all accounts that are read: 20 ms. */
const CALLS_MAX = 10_000;

function modelHealth(database: Database, since: Date): Promise<ModelHealth[]> {
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
