import type { Database } from "../database/database.ts";
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
    ([name, sum]) => `coalesce(sum(${sum}), 0)::float8 as "${name}"`,
  ),
  ...Object.entries(REPORT_AMOUNTS).map(
    ([name, sum]) => `coalesce(sum(${sum}), 0)::bigint as "${name}"`,
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
      const table = by === "account" || by === "key" ? "report_keys" : "report_models";
      const rows = await database.query<ReportRow & { readonly isTotal: boolean }>(
        `select ${GROUPS[by].map(([column, name]) => `${column} as "${name}"`).join(", ")},
          grouping(${groups[0]}) = 1 as "isTotal", ${SUMS}
        from ${daysOf(table)}
        group by grouping sets ((${groups.join(", ")}), ())
        having grouping(${groups[0]}) = 1 or sum(calls) > 0
        order by grouping(${groups[0]}) desc, ${by === "day" ? "day" : `sum(charged) desc, ${groups[0]}`}
        limit ${limit + 2}`,
        [from, to],
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

/** The sums of the days from `$1` to `$2`. */
const daysOf = (table: "report_models" | "report_keys") =>
  `(select * from ${table} where day between $1::text::date and $2::text::date) used`;

function dayAfter(day: string): string {
  return dayOf(endOfDay(day));
}

/**
 * Returns what customers had left of gifts at the start of a day. Other money is spent first. Calls only lower a balance, so it
 * is lowest before a movement or at the end.
 */
async function giftsLeft(database: Database, day: string): Promise<bigint> {
  const [row] = await database.query<{ left: bigint }>(
    `with movement as materialized (
      select account_id, id, balance_after - amount as balance_before,
        case when kind = 'adjustment' and ${MOVEMENT_KIND} in ('bonus', 'voucher') then amount else 0 end as gift
      from ledger_entries where call_id is null and at < $3
    ), gifts as (
      select account_id, gifts_left(gift, balance_before order by id) as amount from movement
      where account_id in (select account_id from movement where gift <> 0) group by 1
    ), moved as (
      select account_id, sum(amount) as amount from ledger_entries
      where call_id is null and at >= $3 group by 1
    ), charged as (
      select account_id, sum(charged) as amount from ${daysOf("report_keys")} group by 1
    )
    select coalesce(sum(greatest(0, least(
      gifts.amount, balance - coalesce(moved.amount, 0) + coalesce(charged.amount, 0)
    ))), 0)::bigint as left
    from gifts join wallets using (account_id) left join moved using (account_id) left join charged using (account_id)`,
    [day, LAST_DAY, startOfDay(day)],
  );
  return row?.left ?? 0n;
}

function sumOf(condition: string): string {
  return `(select coalesce(sum(amount), 0)::bigint from movements where ${condition})`;
}
