import type { Sql } from "./client.ts";
import type { LedgerSum } from "./ledger.ts";

const PAGE = 1_000;
const FIRST = "00000000-0000-0000-0000-000000000000";

/** All wallets in pages, so that neither memory nor a connection is held for long. */
export async function* sums(sql: Sql): AsyncGenerator<LedgerSum> {
  let after = FIRST;
  for (;;) {
    const page = await sql<LedgerSum[]>`
      select ${sumColumns(sql)} from (
        select account_id, balance from wallets
        where account_id > ${after} order by account_id limit ${PAGE}
      ) wallet
      order by account_id`;
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.accountId;
  }
}

export async function sum(sql: Sql, accountId: string): Promise<LedgerSum | undefined> {
  const [found] = await sql<LedgerSum[]>`
    select ${sumColumns(sql)} from wallets wallet where account_id = ${accountId}`;
  return found;
}

/** Both come from one statement and so from one instant. */
function sumColumns(sql: Sql) {
  return sql`account_id as "accountId", balance as "balanceMicroVnd", (
    select coalesce(sum(amount), 0)::bigint from ledger_entries entry
    where entry.account_id = wallet.account_id
  ) as "entriesMicroVnd"`;
}
