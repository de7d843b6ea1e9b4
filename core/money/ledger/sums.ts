import type { LedgerSum } from "../../contract/ledger.ts";
import type { Sql } from "../../database/client.ts";
import { isId } from "../../process/id.ts";
import { quarantinedSum } from "./quarantine.ts";

const PAGE = 1_000;
const FIRST = "00000000-0000-0000-0000-000000000000";

/** SQL of the proven sum plus all rows after it. */
const SUM = `coalesce((
    select amount from proven_wallets proven where proven.account_id = wallet.account_id
  ), 0) + (
    select coalesce(sum(amount), 0)::bigint from ledger_entries entry
    where entry.account_id = wallet.account_id and entry.id > (select entry_id from ledger_proof)
  )`;
const LAST = `coalesce((
    select balance_after from ledger_entries entry
    where entry.account_id = wallet.account_id order by id desc limit 1
  ), 0)::bigint`;

/** Columns of one statement, so that all figures are of one instant. */
function columns(entries: string): string {
  const quarantined = quarantinedSum("wallet.account_id");
  return `account_id as "accountId", null as "limit", balance as "balanceMicroVnd",
    ${entries} as "entriesMicroVnd", ${quarantined} as "quarantinedMicroVnd"`;
}

/** Yields all wallets, read in pages: bounds memory, and holds no connection between two pages. */
export async function* sums(sql: Sql, isQuick: boolean): AsyncGenerator<LedgerSum> {
  let after = FIRST;
  for (;;) {
    const page = await sql.query<LedgerSum>(
      `select ${columns(isQuick ? LAST : SUM)} from (
        select account_id, balance from wallets where account_id > $1 order by account_id limit $2
      ) wallet
      order by account_id`,
      [after, PAGE],
    );
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.accountId;
  }
}

export async function sum(sql: Sql, accountId: string): Promise<LedgerSum | undefined> {
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
