import type { Sql } from "../../database/client.ts";
import { FIRST_ID } from "../../process/id.ts";
import type { LedgerSum } from "../ledger.ts";
import { quarantinedWithin } from "./limits.ts";

const PAGE = 1_000;

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
