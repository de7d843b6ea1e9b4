import type { Database } from "../database/database.ts";
import { completeThrough } from "../money/ledger/credit.ts";
import { LIFETIMES } from "../money/lifetimes.ts";
import { dayOf } from "../process/vietnam-day.ts";
import type { Moved } from "./books.ts";
import { MOVEMENT_KIND } from "./usage-sums.ts";

/** Ledger rows of one look: some 100 ms of Postgres. */
const ROWS_MAX = 50_000;
/** A look that comes later misses refusals. A client that is refused tries again. */
const REFUSED_MS = 300_000;

type Row = Omit<Moved, "through"> & { readonly through: string };

export async function movedAfter(
  database: Database,
  after: bigint | undefined,
  belowMicroVnd: number,
): Promise<Moved> {
  const [newest] =
    after === undefined
      ? await database.query<{ id: bigint }>(
          "select coalesce(max(id), 0)::bigint as id from ledger_entries",
        )
      : [];
  // Rows from before it are all committed, and have lower ids than rows of transactions that run: see month-statements.ts.
  const completeMs = (await completeThrough(database)) - LIFETIMES.statementTimeoutMs;
  const [found] = await database.query<Row>(
    `with row as materialized (
      select id, account_id, kind, amount, balance_after, reference, reason, purses, at from ledger_entries
      where id > $1 order by id limit ${ROWS_MAX}
    ),
    of_account as (
      select account_id as "accountId", max(id) as entry, bool_or(kind = 'charge') as "isCharged",
        bool_or(amount > 0) as is_raised from row group by 1
    ),
    named as (
      select distinct account_id, name from row cross join json_array_elements_text(purses) purse (name)
    )
    select
      (select coalesce(min(id) filter (where at >= $2) - 1, max(id), $1)::text from row) as through,
      (
        select coalesce(json_agg(json_build_object(
          'accountId', "accountId", 'entry', entry::text, 'isCharged', "isCharged", 'balanceMicroVnd', balance
        )), '[]') from of_account join wallets on account_id = "accountId"
        where is_raised or balance < $5
      ) as wallets,
      (
        select coalesce(json_agg(json_build_object(
          'accountId', account_id, 'name', name, 'chargedMicroVnd', charged
        )), '[]') from named join purses using (account_id, name)
      ) as purses,
      (
        select coalesce(json_agg(json_build_object(
          'accountId', account_id, 'entry', id::text, 'amountMicroVnd', amount, 'balanceMicroVnd', balance_after,
          'kind', ${MOVEMENT_KIND}, 'reason', reason
        ) order by id), '[]') from row where amount > 0 and ${MOVEMENT_KIND} in ('transfer', 'credit', 'voucher', 'bonus')
      ) as "topUps",
      (
        select coalesce(json_agg(distinct jsonb_build_object('accountId', account_id, 'keyId', key_id, 'day', day)), '[]')
        from refused_calls where day >= $3::text::date and cause = 'key_budget_exceeded' and last_at >= $4
      ) as "overBudget"`,
    [
      after ?? newest?.id ?? 0n,
      new Date(completeMs),
      dayOf(new Date(completeMs - REFUSED_MS)),
      new Date(completeMs - REFUSED_MS),
      belowMicroVnd,
    ],
  );
  if (!found) throw new Error("the ledger did not say what has moved");
  return { ...found, through: BigInt(found.through) };
}
