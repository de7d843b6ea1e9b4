import type { Sql } from "../../database/client.ts";
import { FIRST_ID } from "../../process/id.ts";
import type { WalletSnapshot } from "../hold-store.ts";
import { type LedgerSum, NO_SUMS } from "../ledger.ts";

const PAGE = 1_000;

/** Returns a SQL expression: the charges in quarantine, in µđ, of a purse. */
export function quarantinedOf(account: string, name: string): string {
  return `(
    select coalesce(sum(quarantine.charged), 0)::bigint
    from quarantine cross join json_array_elements_text(quarantine.purses) named (name)
    where quarantine.account_id = ${account}::text and named.name = ${name}
  )`;
}

/** See `Ledger.purse`. One statement, so both books are of one instant. */
export async function readPurse(
  sql: Sql,
  accountId: string,
  name: string,
): Promise<WalletSnapshot | undefined> {
  const [row] = await sql.query<{ balance: bigint }>(
    `select -coalesce((select charged from purses where account_id = $1::text::uuid and name = $2), 0)
      - ${quarantinedOf("$1::text", "$2")} as balance`,
    [accountId, name],
  );
  if (row === undefined) return undefined;
  return { accountId, balanceMicroVnd: row.balance, creditVersion: 0, creditedMicroVnd: 0n };
}

interface PurseSum extends LedgerSum {
  readonly purse: string;
}

/**
 * Selects what some purses were charged as stored, and as computed from their calls: what is proven of these, and all after
 * it. As a balance, which a charge lowers. One statement, so both are of one instant. `which`: the purses, as SQL.
 */
function statement(which: string): string {
  return `with page as materialized (select * from purses ${which}),
    unproven as materialized (
      select * from unproven_purses(array(select distinct account_id from page))
    )
    select page.account_id as "accountId", page.name as "purse", -page.charged as "balanceMicroVnd",
      -(coalesce(proven.charged, 0) + coalesce(unproven.charged, 0)) as "entriesMicroVnd",
      ${quarantinedOf("page.account_id", "page.name")} as "quarantinedMicroVnd"
    from page left join proven_purses proven using (account_id, name)
      left join unproven using (account_id, name)
    order by page.account_id, page.name`;
}

/** Yields all purses, read in pages: bounds memory, and holds no connection between two pages. */
export async function* purseSums(sql: Pick<Sql, "query">): AsyncGenerator<LedgerSum> {
  const which = "where (account_id, name) > ($1::uuid, $2) order by account_id, name limit $3";
  const text = statement(which);
  let last = { accountId: FIRST_ID, purse: "" };
  for (;;) {
    const page: PurseSum[] = await sql.query(text, [last.accountId, last.purse, PAGE]);
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = end;
  }
}

/** Returns the sums of one purse: zeros if nothing was charged to it. */
export async function purseSum(sql: Sql, accountId: string, purse: string): Promise<LedgerSum> {
  const text = statement("where account_id = $1 and name = $2");
  const [found] = await sql.query<LedgerSum>(text, [accountId, purse]);
  return found ?? { accountId, purse, ...NO_SUMS };
}
