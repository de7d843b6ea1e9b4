import type { Database, Parameter } from "../database/database.ts";
import { dayOf, endOfDay, startOfDay } from "../process/vietnam-day.ts";
import {
  MOVEMENT_KINDS,
  type MoneyReport,
  type MovementPage,
  REPORT_AMOUNTS,
  REPORT_COUNTS,
  type Report,
  type ReportDimension,
  type ReportRow,
  type ShownMovement,
} from "./books.ts";
import { MOVEMENT_KIND } from "./usage-sums.ts";

const GROUPS: Readonly<Record<ReportDimension, readonly [column: string, name: string][]>> = {
  day: [["day::text", "day"]],
  model: [["model", "model"]],
  provider: [["upstream", "provider"]],
  account: [["account_id", "account"]],
  key: [
    ["key_id", "key"],
    ["account_id", "account"],
  ],
};

const SUMS = [
  ...Object.entries(REPORT_COUNTS).map(
    ([name, sum]) => `coalesce(sum(sign * ${sum}), 0)::float8 as "${name}"`,
  ),
  ...Object.entries(REPORT_AMOUNTS).map(
    ([name, sum]) => `coalesce(sum(sign * ${sum}), 0)::bigint as "${name}"`,
  ),
].join(", ");

/** Sums over the calls and the money of all accounts. */
export function reportsOf(database: Database) {
  return {
    /**
     * Returns sums over all accounts, of the days (in Vietnam) from `from` to `to`, both included, and of all of them: at most
     * `limit` rows. Call `prepareReport` before. Reads the sums that each commit updates, so the time depends on days, models
     * and keys, not on calls.
     */
    async report(by: ReportDimension, from: string, to: string, limit: number): Promise<Report> {
      const groups = GROUPS[by].map(([column]) => column.replace("::text", ""));
      const isOfKeys = by === "account" || by === "key";
      const [source, parameters] = isOfKeys ? await keysOf(database, from, to) : modelsOf(from, to);
      const rows = await database.query<ReportRow & { readonly isTotal: boolean }>(
        `select ${GROUPS[by].map(([column, name]) => `${column} as "${name}"`).join(", ")},
          grouping(${groups[0]}) = 1 as "isTotal", ${SUMS}
        from ${source}
        group by grouping sets ((${groups.join(", ")}), ())
        having grouping(${groups[0]}) = 1 or sum(sign * calls) > 0
        order by grouping(${groups[0]}) desc, ${by === "day" ? "day" : `sum(sign * charged) desc, ${groups[0]}`}
        limit ${limit + 2}`,
        parameters,
      );
      const [total, ...sums] = rows.map(({ isTotal: _, ...sum }) => sum);
      if (!total) throw new Error("the sum of all usage is missing");
      return { rows: sums.slice(0, limit), total, isCut: sums.length > limit };
    },

    /**
     * Returns the movements of the days from `from` to `to`, both included, and what customers had left at the end of `to`: the
     * balances of now less what has changed since.
     */
    async money(from: string, to: string): Promise<MoneyReport> {
      const [row] = await database.query<Omit<MoneyReport, "owedGifts" | "giftsSpent">>(
        `with movements as materialized (
          select at >= $2 as is_later, amount, ${MOVEMENT_KIND} as kind
          from ledger_entries where call_id is null and at >= $1
        )
        select
          ${MOVEMENT_KINDS.map((kind) => `${sumOf(`kind = '${kind}' and not is_later`)} as "${kind}"`).join(", ")},
          ((select coalesce(sum(balance), 0) from wallets) - ${sumOf("is_later")}
            + coalesce((select sum(charged) from report_models where day > $3::text::date), 0))::bigint as owed
        from (select) one`,
        [startOfDay(from), endOfDay(to), to],
      );
      if (!row) throw new Error("the sums of movements are missing");
      const [before, owedGifts] = [
        await giftsLeft(database, from),
        await giftsLeft(database, dayAfter(to)),
      ];
      return { ...row, owedGifts, giftsSpent: before + row.bonus + row.voucher - owedGifts };
    },

    movementKinds: MOVEMENT_KINDS,

    /**
     * Returns the movements that `money` adds up, newest first: of the days from `from` to `to`, both included, that pass the
     * filter and are older than the ledger row `before`. Reads those of the days in the order of an index.
     */
    movements({ kind, from, to, before, limit }: MovementPage): Promise<ShownMovement[]> {
      return database.query<ShownMovement>(
        `with last as materialized (
          select at, id from ledger_entries where call_id is null and id = $3
        )
        select id::text as entry, account_id as "accountId", at, ${MOVEMENT_KIND} as kind, amount as "amountMicroVnd",
          balance_after as "balanceMicroVnd", reference, reason
        from ledger_entries
        where call_id is null and at >= $1 and at < $2 and ($4::text is null or ${MOVEMENT_KIND} = $4)
          and ($3::bigint is null or (at <= (select at from last) and (at, id) < (select at, id from last)))
        order by at desc, id desc limit $5`,
        [startOfDay(from), endOfDay(to), before ?? null, kind ?? null, limit],
      );
    },
  };
}

const LAST_DAY = "2200-12-31";

type Source = readonly [sql: string, parameters: readonly Parameter[]];

function modelsOf(from: string, to: string): Source {
  const days = "day between $1::text::date and $2::text::date";
  return [`(select 1 as sign, * from report_models where ${days}) used`, [from, to]];
}

/**
 * Sums of months, from the one whose start is nearest; then adds or takes off the days between it and the period's end. Months
 * that are over are added up first, if no report has done so.
 */
async function keysOf(database: Database, from: string, to: string): Promise<Source> {
  const end = dayAfter(to);
  const months = [nearestMonth(from), nearestMonth(end)] as const;
  const [row] = await database.query<{ current: string }>(
    "select add_up_report($1::text::date, $2::text::date)::text as current",
    months,
  );
  const current = row?.current ?? from;
  const [first, last] =
    from < current ? [least(months[0], current), least(months[1], current)] : [from, from];
  const days = (sign: number, start: string, end: string) =>
    `union all select ${sign}, * from report_keys where not is_month and day >= ${start}::text::date and day < ${end}::text::date`;
  const sql = `(
      select 1 as sign, * from report_keys
        where is_month and day >= $1::text::date and day < $2::text::date
      ${from < first ? days(1, "$3", "$1") : days(-1, "$1", "$3")}
      ${last < end ? days(1, "$2", "$4") : days(-1, "$4", "$2")}
    ) used`;
  return [sql, [first, last, from, end]];
}

function least(one: string, other: string): string {
  return one < other ? one : other;
}

function nearestMonth(day: string): string {
  const [year = 0, month = 1, ofMonth = 1] = day.split("-").map(Number);
  const nearest = new Date(Date.UTC(year, ofMonth <= 16 ? month - 1 : month));
  return nearest.toISOString().slice(0, 10);
}

function dayAfter(day: string): string {
  return dayOf(endOfDay(day));
}

/**
 * Returns what customers had left of gifts at the start of a day. Other money is spent first. Calls only lower a balance, so it
 * is lowest before a movement or at the end.
 */
async function giftsLeft(database: Database, day: string): Promise<bigint> {
  const [source, parameters] = await keysOf(database, day, LAST_DAY);
  const [row] = await database.query<{ left: bigint }>(
    `with movement as materialized (
      select account_id, id, balance_after - amount as balance_before,
        case when kind = 'adjustment' and ${MOVEMENT_KIND} in ('bonus', 'voucher') then amount else 0 end as gift
      from ledger_entries where call_id is null and at < $5
    ), gifts as (
      select account_id, gifts_left(gift, balance_before order by id) as amount from movement
      where account_id in (select account_id from movement where gift <> 0) group by 1
    ), moved as (
      select account_id, sum(amount) as amount from ledger_entries
      where call_id is null and at >= $5 group by 1
    ), charged as (
      select account_id, sum(sign * charged) as amount from ${source} group by 1
    )
    select coalesce(sum(greatest(0, least(
      gifts.amount, balance - coalesce(moved.amount, 0) + coalesce(charged.amount, 0)
    ))), 0)::bigint as left
    from gifts join wallets using (account_id) left join moved using (account_id) left join charged using (account_id)`,
    [...parameters, startOfDay(day)],
  );
  return row?.left ?? 0n;
}

function sumOf(condition: string): string {
  return `(select coalesce(sum(amount), 0)::bigint from movements where ${condition})`;
}
