import type { Database, Parameter } from "../database/database.ts";
import {
  BONUS_REFERENCE,
  REFUND_REFERENCE,
  TAKEN_BACK_REFERENCE,
  TRANSFER_REFERENCE,
  VOUCHER_REFERENCE,
} from "../money/ledger/corrections.ts";
import { dayOf, startOfDay } from "../process/vietnam-day.ts";
import type {
  KeyUsage,
  Statement,
  StatementRow,
  UsageDimension,
  UsageFilter,
  UsageSum,
  UsageSums,
} from "./books.ts";
import { SOUND } from "./usage-page-statement.ts";
import { failedStatuses } from "./usage-records.ts";
import { FAILED_CALLS_MAX, GROUPS, sourceOfStatuses, usageSource } from "./usage-sources.ts";

const COLUMNS: Record<UsageDimension, string> = {
  day: "day::text as day",
  model: "model",
  key: "key_id as key",
};
/** Maximum number of sums: enough for a year of days for each of 30 models. */
const ROWS_MAX = 12_000;

/** A sum as the statement returns it, and whether it is the total of all rows. */
interface SumRow extends UsageSum {
  readonly isTotal: boolean;
  readonly failedCalls: number;
}

/** Sums of the usage of an account, and statements of its money. */
export function usageSumsOf(database: Database) {
  return {
    /**
     * Returns the sums of calls, tokens and charges of an account by day (in Vietnam), model, key, or several of them, and the
     * sum of all. The filter applies to whole days. Reads the daily sums that each commit updates, so the time grows with the
     * days, not with calls: bound them. With a status it also reads each failed call, up to `FAILED_CALLS_MAX`, and lacks those
     * of archived months.
     */
    async sums(
      accountId: string,
      by: readonly UsageDimension[],
      filter: UsageFilter,
    ): Promise<UsageSums> {
      const parameters: Parameter[] = [accountId];
      const given = (value: Parameter) => `$${parameters.push(value)}`;
      const { status } = filter;
      const isOfOne = typeof status === "number" && status !== SOUND;
      const failed = isOfOne ? [status] : status && (await failedStatuses(database));
      const { failedCalls, source } = failed
        ? sourceOfStatuses(by, filter, failed, given)
        : { failedCalls: undefined, source: usageSource(filter, given) };
      const groups = by.map((dimension) => GROUPS[dimension]);
      const isByDay = by.includes("day");
      // The newest days first, so that a cut takes the oldest.
      const newest = ["day", ...groups.filter((group) => group !== "day")];
      const order = isByDay
        ? newest.map((group) => `${group} desc`)
        : ["sum(charged) desc", ...groups];
      const rows = await database.query<SumRow>(
        `${failedCalls ? `with ${failedCalls}` : ""}
        select ${by.map((dimension) => COLUMNS[dimension]).join(", ")},
          ${failedCalls ? "(select count(*) from failed_calls)::float8" : 0} as "failedCalls",
          grouping(${groups[0]}) = 1 as "isTotal", coalesce(sum(calls), 0)::float8 as calls,
          coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
          coalesce(sum(output_tokens), 0)::float8 as "outputTokens",
          coalesce(sum(charged), 0)::bigint as "chargedMicroVnd"
        from ${source}
        group by grouping sets ((${groups.join(", ")}), ())
        having grouping(${groups[0]}) = 1 or sum(calls) > 0
        order by grouping(${groups[0]}) desc, ${order.join(", ")}
        limit ${ROWS_MAX + 2}`,
        parameters,
      );
      const [total, ...sums] = rows.map(({ isTotal, failedCalls, ...sum }) => sum);
      if (!rows[0]?.isTotal || total === undefined)
        throw new Error("the sum of all usage is missing");
      const { calls, inputTokens, outputTokens, chargedMicroVnd } = total;
      const isCut = sums.length > ROWS_MAX;
      const kept = isCut ? wholeDays(sums) : sums;
      return {
        sums: isByDay ? kept.reverse() : kept,
        total: { calls, inputTokens, outputTokens, chargedMicroVnd },
        isCut,
        lacksFailed: (rows[0]?.failedCalls ?? 0) > FAILED_CALLS_MAX,
      };
    },

    /**
     * Returns the charges and last use of these keys of the account, over all days. Keys that were never used are missing. Sums
     * the account's rows first, then joins the keys: with the list as a condition Postgres scanned it for each row, which took
     * 24 s for 68,000 rows and 113 keys.
     */
    async byKey(accountId: string, keyIds: readonly string[]): Promise<KeyUsage[]> {
      return database.query(
        `with used as materialized (
          select key_id as "keyId", sum(charged)::bigint as "chargedMicroVnd",
            max(last_at) as "lastUsedAt"
          from usage_daily where account_id = $1 group by key_id
        )
        select used.* from used join unnest($2::text::uuid[]) wanted (id) on wanted.id = "keyId"`,
        [accountId, `{${keyIds.join(",")}}`],
      );
    },

    /**
     * Returns all money of an account from the day (in Vietnam) of `from` to the one before `to`. Charges come from the daily
     * sums that each commit updates, so the time depends on days and movements, not on calls.
     */
    async statement(accountId: string, from: Date, to: Date): Promise<Statement> {
      const parameters: Parameter[] = [accountId];
      const given = (value: Parameter) => `$${parameters.push(value)}`;
      const source = usageSource({ to }, given);
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
        select ${MOVEMENT_KIND}, at, (at at time zone 'Asia/Ho_Chi_Minh')::date::text, reason, reference, 0, amount, id
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
      // The movement before those listed, and charges before it: others that are older are missing.
      if (isCut) found.splice(0, found.findIndex(({ kind }) => kind !== "charges") + 1);
      // From the end, so that each balance is right if the oldest rows are missing.
      let balanceMicroVnd = closingMicroVnd;
      const listed = found.reverse().map(({ at, day, kind, amountMicroVnd, ...row }) => {
        const { reason, reference, calls } = row;
        const shown = { at, day, kind, amountMicroVnd, balanceMicroVnd, reason, reference, calls };
        balanceMicroVnd -= amountMicroVnd;
        return shown;
      });
      return {
        openingMicroVnd: amountOf("opening"),
        closingMicroVnd,
        rows: listed.reverse(),
        isCut,
      };
    },
  };
}

/** Returns the sums without the oldest day, of which some are missing. Sums that are not by day lose only the last. */
function wholeDays(sums: readonly UsageSum[]): UsageSum[] {
  const last = sums.at(-1)?.day;
  const whole = sums.filter(({ day }) => day === undefined || day !== last);
  return (whole.length > 0 ? whole : sums).slice(0, ROWS_MAX);
}

const MOVEMENTS_MAX = 5_000;

/** SQL of the kind of a movement: see `StatementRow`. */
export const MOVEMENT_KIND = `case
    when starts_with(reference, '${BONUS_REFERENCE}')
      or reference ~ '^${TAKEN_BACK_REFERENCE}\\d+:${BONUS_REFERENCE}' then 'bonus'
    when starts_with(reference, '${VOUCHER_REFERENCE}')
      or reference ~ '^${TAKEN_BACK_REFERENCE}\\d+:${VOUCHER_REFERENCE}' then 'voucher'
    when starts_with(reference, '${TAKEN_BACK_REFERENCE}') then 'taken_back'
    when starts_with(reference, '${REFUND_REFERENCE}') then 'refund'
    when kind = 'adjustment' then kind
    when starts_with(reference, '${TRANSFER_REFERENCE}') then 'transfer'
    else 'credit'
  end`;

interface Row extends Omit<StatementRow, "kind" | "balanceMicroVnd"> {
  readonly kind: StatementRow["kind"] | "opening" | "closing";
}

function isOfStatement(row: Row): row is Row & Pick<StatementRow, "kind"> {
  return row.kind !== "opening" && row.kind !== "closing";
}
