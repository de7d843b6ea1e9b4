import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Parameter } from "../database/database.ts";
import type { PluginDatabase } from "../database/migrate.ts";
import { completeThrough } from "../money/ledger/credit.ts";
import { LIFETIMES } from "../money/lifetimes.ts";
import { FIRST_ID } from "../process/id.ts";
import { packageRoot } from "../process/root.ts";
import { dayOf, startOfDay } from "../process/vietnam-day.ts";
import type { ClosedStatement, MonthRow, MonthStatement } from "./books.ts";
import { MOVEMENT_KIND } from "./usage-sums.ts";

const MIGRATIONS = pathToFileURL(join(packageRoot, "core/usage/month-statements/"));
/** Ledger rows of one statement: some 50 ms of Postgres. */
const LEDGER_ROWS = 2_000;
const ACCOUNTS = 200;
const ROWS = 1_000;
const LISTED_MAX = 600;

const CLOSED = `select account_id as "accountId", number, month, opening as "openingMicroVnd",
  closing as "closingMicroVnd", previous_digest as "previousDigest", digest, invoice, closed_at as "closedAt"
  from statement_months`;

interface StoredRow extends Omit<MonthRow, "balanceMicroVnd"> {
  readonly segment: number;
  readonly isCharges: boolean;
  /** Of a movement: the balance that the ledger has after it. */
  readonly ledgerMicroVnd: bigint | null;
}

/**
 * Makes, closes and reads statements by month, in the tables in `month-statements/`. A ledger row counts in the month in
 * which it was committed.
 */
export function monthStatements(database: PluginDatabase) {
  /**
   * Returns the rows of a statement, oldest first, in lists of some, so that no statement has to fit in memory. With
   * `mustAddUp`, throws if a balance is not that of the ledger.
   */
  async function* rows(
    statement: MonthStatement,
    { mustAddUp } = { mustAddUp: false },
  ): AsyncGenerator<readonly MonthRow[]> {
    const check = (expected: bigint) => {
      if (!mustAddUp || expected === balanceMicroVnd) return;
      const sums = `${balanceMicroVnd} µđ by its rows, ${expected} µđ by the ledger`;
      throw new Error(`the statement of ${accountId} for ${month} does not add up: ${sums}`);
    };
    const { accountId, number, month } = statement;
    let balanceMicroVnd = statement.openingMicroVnd;
    let last: Parameter[] = [-1, false, "0001-01-01", ""];
    for (;;) {
      const page = await database.query<StoredRow>(
        `select segment, is_charges as "isCharges", day::text as day, model, calls::float8 as calls,
          amount as "amountMicroVnd", at, reason, reference, balance_after as "ledgerMicroVnd",
          case when is_charges then 'charges' else ${MOVEMENT_KIND} end as kind
        from statement_rows
        where account_id = $1 and number = $2 and (segment, is_charges, day, model) > ($3, $4, $5::text::date, $6)
        order by segment, is_charges, day, model limit ${ROWS}`,
        [accountId, number, ...last],
      );
      const shown = page.map(({ segment, isCharges, ledgerMicroVnd, ...row }) => {
        balanceMicroVnd += row.amountMicroVnd;
        if (ledgerMicroVnd !== null) check(ledgerMicroVnd);
        return { ...row, balanceMicroVnd };
      });
      if (shown.length > 0) yield shown;
      const end = page.at(-1);
      if (end === undefined || page.length < ROWS) break;
      last = [end.segment, end.isCharges, end.day, end.model];
    }
    check(statement.closingMicroVnd);
  }

  return {
    /** Creates the tables, if they are missing. Call it first. */
    prepare: () => database.migrate("month-statements", MIGRATIONS),

    /**
     * Returns the month that the ledger is in, less the time that a transaction may take: all rows of the months before
     * it are committed.
     */
    async current(): Promise<string> {
      const complete = await completeThrough(database);
      return dayOf(new Date(complete - LIFETIMES.statementTimeoutMs)).slice(0, 7);
    },

    /**
     * Returns the next accounts by their ids, and which of them have rows of a month before `current`. Begin with no
     * account; the list is empty after the last one.
     */
    due: (current: string, after = FIRST_ID) =>
      database.query<{ account: string; isDue: boolean }>(
        `select account, is_due as "isDue" from statements_due($1, $2, ${ACCOUNTS})`,
        [after, startOf(current)],
      ),

    /**
     * Adds the next rows to the statement of an account. Returns `more` if there may be more, `none` if no month before
     * `current` has rows, else the whole statement, to be closed. Many processes may call it at once.
     */
    async add(accountId: string, current: string): Promise<"none" | "more" | MonthStatement> {
      const [row] = await database.query<{ result: "none" | "more" | "whole" }>(
        `select add_to_statement($1, $2, ${LEDGER_ROWS}) as result`,
        [accountId, startOf(current)],
      );
      if (row?.result !== "whole") return row?.result ?? "none";
      const [whole] = await database.query<MonthStatement>(
        `select account_id as "accountId", number, month, opening as "openingMicroVnd",
          balance as "closingMicroVnd", (
            select digest from statement_months before
            where before.account_id = $1 and before.number = statement_progress.number - 1
          ) as "previousDigest"
        from statement_progress where account_id = $1 and is_whole`,
        [accountId],
      );
      return whole ?? "more";
    },

    /** Closes a whole statement, and keeps the data of its invoice. Returns false if another process has closed it. */
    async close(
      { accountId, number, previousDigest }: MonthStatement,
      digest: string,
      invoice: string,
    ): Promise<boolean> {
      const [row] = await database.query<{ isClosed: boolean }>(
        `select close_statement($1, $2, $3, $4, $5) as "isClosed"`,
        [accountId, number, digest, previousDigest, invoice],
      );
      return row?.isClosed ?? false;
    },

    /** Drops a whole statement that cannot be closed: the next `add` makes it again of what the ledger has. */
    async discard({ accountId, number }: MonthStatement): Promise<void> {
      await database.query("select discard_statement($1, $2)", [accountId, number]);
    },

    rows,

    /** Returns the closed statements of an account, newest first. */
    list: (accountId: string) =>
      database.query<ClosedStatement>(
        `${CLOSED} where account_id = $1 order by number desc limit ${LISTED_MAX}`,
        [accountId],
      ),

    /** Returns a closed statement; undefined if there is none. */
    async find(accountId: string, month: string): Promise<ClosedStatement | undefined> {
      const [found] = await database.query<ClosedStatement>(
        `${CLOSED} where account_id = $1 and month = $2`,
        [accountId, month],
      );
      return found;
    },

    /** Returns the closed statements of a month in the order of their accounts. */
    ofMonth: (month: string, after = FIRST_ID, limit = ACCOUNTS) =>
      database.query<ClosedStatement>(
        `${CLOSED} where month = $1 and account_id > $2 order by account_id limit $3`,
        [month, after, limit],
      ),

    /** Returns what the calls of a month cost, less refunds, by account. */
    async sold(month: string, accountIds: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
      const rows = await database.query<{ accountId: string; amountMicroVnd: bigint }>(
        `select account_id as "accountId", -sum(amount)::bigint as "amountMicroVnd"
        from statement_rows join statement_months closed using (account_id, number)
        where closed.month = $1 and account_id = any ($2::text::uuid[]) and (is_charges or ${MOVEMENT_KIND} = 'refund')
        group by account_id`,
        [month, `{${accountIds.join(",")}}`],
      );
      return new Map(rows.map(({ accountId, amountMicroVnd }) => [accountId, amountMicroVnd]));
    },
  };
}

function startOf(month: string): Date {
  return startOfDay(`${month}-01`);
}
