import type { Sql } from "../../database/client.ts";
import { FIRST_ID, isId } from "../../process/id.ts";
import type { LedgerSum } from "../ledger.ts";
import { quarantinedWithin } from "./limits.ts";
import { quarantinedSum } from "./quarantine.ts";

const PAGE = 1_000;
/** A page without unproven rows takes 15 ms. A statement may take 30 s. */
const PAGE_MS_MAX = 500;

const PROVEN = `coalesce((
    select amount from proven_wallets proven where proven.account_id = wallet.account_id
  ), 0)`;
/** SQL of the proven sum plus all rows after it: of one wallet by an index of each month, of a page of them in one go. */
const SUM = `${PROVEN} + (
    select coalesce(sum(amount), 0)::bigint from ledger_entries entry
    where entry.account_id = wallet.account_id and entry.id > (select entry_id from ledger_proof)
  )`;
const SUM_OF_PAGE = `${PROVEN} + coalesce((
    select amount from unproven where unproven.account_id = wallet.account_id
  ), 0)`;
/**
 * SQL of the balance after the last row among the movements, the charges of two months, and what is proven: it does not
 * look into all months. A wallet that seems to drift since its last charge is older and not proven is looked at
 * again, by the sum of all its rows.
 */
const LAST = `coalesce((
    select balance_after from (
      (select id, balance_after from ledger_entries entry
        where entry.account_id = wallet.account_id and call_id >= first_call_id(now() - interval '2 months')
        order by id desc limit 1)
      union all
      (select id, balance_after from ledger_entries entry
        where entry.account_id = wallet.account_id and call_id is null order by id desc limit 1)
      union all
      (select entry_id, amount from proven_wallets proven cross join ledger_proof
        where proven.account_id = wallet.account_id)
    ) latest order by id desc limit 1
  ), 0)::bigint`;

interface SumsOptions {
  /** True to compare with the balance after the last row. */
  readonly isQuick?: boolean;
  /** Adds up the rows that are not proven yet. */
  readonly prove?: () => Promise<void>;
  readonly pageMsMax?: number;
}

/** Columns of one statement, so that all figures are of one instant. */
function columns(entries: string): string {
  const quarantined = quarantinedSum("wallet.account_id");
  return `account_id as "accountId", null as "limit", balance as "balanceMicroVnd",
    ${entries} as "entriesMicroVnd", ${quarantined} as "quarantinedMicroVnd"`;
}

/**
 * Yields all wallets, read in pages: bounds memory, and holds no connection between two pages. Each page adds up all rows
 * that are not proven, and calls go on writing: `prove` is called after a page that took long.
 */
export async function* sums(
  sql: Pick<Sql, "query">,
  { isQuick = false, prove = async () => {}, pageMsMax = PAGE_MS_MAX }: SumsOptions = {},
): AsyncGenerator<LedgerSum> {
  const wallets = `(
      select account_id, balance from wallets where account_id > $1 order by account_id limit $2
    ) wallet
    order by account_id`;
  const text = isQuick
    ? `select ${columns(LAST)} from ${wallets}`
    : `with unproven as materialized (select * from unproven_sums())
      select ${columns(SUM_OF_PAGE)} from ${wallets}`;
  let after = FIRST_ID;
  for (;;) {
    const startedMs = performance.now();
    const page = await sql.query<LedgerSum>(text, [after, PAGE]);
    const isSlow = performance.now() - startedMs > pageMsMax;
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.accountId;
    if (isSlow && !isQuick) await prove();
  }
}

export async function sum(
  sql: Pick<Sql, "query">,
  accountId: string,
): Promise<LedgerSum | undefined> {
  const [found] = await sql.query<LedgerSum>(
    `select ${columns(SUM)} from wallets wallet where account_id = $1`,
    [accountId],
  );
  return found;
}

/** Returns which of these accounts have no wallet. */
export async function unknownAccounts(sql: Sql, accountIds: readonly string[]): Promise<string[]> {
  const known = await sql.query<{ id: string }>(
    "select account_id as id from wallets where account_id = any($1::text::uuid[])",
    [`{${accountIds.filter(isId).join(",")}}`],
  );
  const ids = new Set(known.map(({ id }) => id));
  return accountIds.filter((accountId) => !ids.has(accountId));
}

const LAST_TOTAL = `coalesce((
    select total_after from wallet_limit_changes changed
    where changed.account_id = page.account_id and changed.name = page.name
    order by id desc limit 1
  ), 0)::bigint`;

interface LimitSum extends LedgerSum {
  readonly limit: string;
}

/**
 * Selects the rest of some limits as stored, and the rest computed from their changes and the charges of their calls:
 * what is proven of these, and all after it. One statement, so both are of one instant. `which`: the limits, as SQL.
 */
function statement(which: string, isQuick: boolean): string {
  const charged = isQuick
    ? "page.charged"
    : "(coalesce(proven.charged, 0) + coalesce(unproven.charged, 0))";
  const unproven = `unproven as materialized (
      select * from unproven_limits(array(select distinct account_id from page))
    )`;
  const sums = `left join proven_limits proven using (account_id, name)
    left join unproven using (account_id, name)`;
  return `with page as materialized (select * from wallet_limits ${which})
    ${isQuick ? "" : `, ${unproven}`}
    select page.account_id as "accountId", page.name as "limit",
      page.total - page.charged as "balanceMicroVnd",
      ${LAST_TOTAL} - ${charged} as "entriesMicroVnd",
      ${quarantinedWithin("page")} as "quarantinedMicroVnd"
    from page ${isQuick ? "" : sums}
    order by page.account_id, page.name`;
}

/** Yields all limits, read in pages: bounds memory, and holds no connection between two pages. */
export async function* limitSums(
  sql: Pick<Sql, "query">,
  isQuick: boolean,
): AsyncGenerator<LedgerSum> {
  const which = "where (account_id, name) > ($1::uuid, $2) order by account_id, name limit $3";
  const text = statement(which, isQuick);
  let last = { accountId: FIRST_ID, limit: "" };
  for (;;) {
    const page: LimitSum[] = await sql.query(text, [last.accountId, last.limit, PAGE]);
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = end;
  }
}

export async function limitSum(
  sql: Sql,
  accountId: string,
  limit: string,
): Promise<LedgerSum | undefined> {
  const text = statement("where account_id = $1 and name = $2", false);
  const [found] = await sql.query<LedgerSum>(text, [accountId, limit]);
  return found;
}
