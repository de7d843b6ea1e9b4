import type { Database, Parameter } from "../database/database.ts";
import { REFUND_REFERENCE, TAKEN_BACK_REFERENCE } from "../money/ledger/corrections.ts";
import { dayOf, startOfDay } from "../process/vietnam-day.ts";
import { type Statement, type StatementRow, TRANSFER_REFERENCE } from "./books.ts";
import { hasManyKeys, usageSource } from "./usage-sources.ts";

const MOVEMENTS_MAX = 5_000;

interface Row extends Omit<StatementRow, "kind" | "balanceMicroVnd"> {
  readonly kind: StatementRow["kind"] | "opening" | "closing";
}

/**
 * Returns the money of an account from the day of `from` to the one before `to`. Charges come from the daily sums that each
 * commit updates, so the time depends on days and movements, not on calls.
 */
export async function statementOf(
  database: Pick<Database, "query">,
  accountId: string,
  from: Date,
  to: Date,
): Promise<Statement> {
  const ofManyKeys = await hasManyKeys(database, accountId);
  const parameters: Parameter[] = [accountId];
  const given = (value: Parameter) => `$${parameters.push(value)}`;
  const source = usageSource(["day"], { to }, ofManyKeys, given);
  const first = `${given(dayOf(from))}::date`;
  const [start, end] = [given(startOfDay(dayOf(from))), given(startOfDay(dayOf(to)))];
  const rows = await database.query<Row>(
    `with charges as materialized (
      select day, sum(calls)::float8 as calls, sum(charged)::bigint as charged from ${source} group by day
    ), movements as materialized (
      select id, at, kind, amount, reference, reason from ledger_entries
      where account_id = $1 and call_id is null and at < ${end}
    ), listed as (
      select * from movements where at >= ${start} order by id desc limit ${MOVEMENTS_MAX + 1}
    )
    select 'opening' as kind, null::timestamptz as at, '' as day, null as reason, null as reference, 0::float8 as calls,
      (coalesce((select sum(amount) from movements where at < ${start}), 0)
        - coalesce((select sum(charged) from charges where day < ${first}), 0))::bigint as "amountMicroVnd",
      0::bigint as place
    union all
    select 'closing', null, '', null, null, 0,
      (coalesce((select sum(amount) from movements), 0)
        - coalesce((select sum(charged) from charges), 0))::bigint, 0
    union all
    select case
        when starts_with(reference, '${TAKEN_BACK_REFERENCE}') then 'taken_back'
        when starts_with(reference, '${REFUND_REFERENCE}') then 'refund'
        when kind = 'adjustment' then kind
        when starts_with(reference, '${TRANSFER_REFERENCE}') then 'transfer'
        else 'credit'
      end, at, (at at time zone 'Asia/Ho_Chi_Minh')::date::text, reason, reference, 0, amount, id
    from listed
    union all
    select 'charges', null, day::text, null, null, calls, -charged, 9223372036854775807
    from charges where day >= ${first}
    order by day, place`,
    parameters,
  );
  const amountOf = (kind: Row["kind"]) =>
    rows.find((row) => row.kind === kind)?.amountMicroVnd ?? 0n;
  const closingMicroVnd = amountOf("closing");
  const found = rows.filter(isOfStatement);
  const isCut = found.filter(({ kind }) => kind !== "charges").length > MOVEMENTS_MAX;
  // From the end, so that each balance is right if the oldest rows are missing.
  let balanceMicroVnd = closingMicroVnd;
  const listed = found.reverse().map(({ at, day, kind, amountMicroVnd, ...row }) => {
    const { reason, reference, calls } = row;
    const shown = { at, day, kind, amountMicroVnd, balanceMicroVnd, reason, reference, calls };
    balanceMicroVnd -= amountMicroVnd;
    return shown;
  });
  return { openingMicroVnd: amountOf("opening"), closingMicroVnd, rows: listed.reverse(), isCut };
}

function isOfStatement(row: Row): row is Row & Pick<StatementRow, "kind"> {
  return row.kind !== "opening" && row.kind !== "closing";
}
