import type { Database } from "../database/database.ts";
import { idTime, isId } from "../process/id.ts";
import { dayOf } from "../process/vietnam-day.ts";
import type { UsageFilter } from "./books.ts";

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
