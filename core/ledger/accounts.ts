import type { Sql } from "./client.ts";
import type { Account } from "./ledger.ts";

/** An account and its empty wallet; `email_taken` where another has the address, in any case of letters. */
export async function createAccount(
  sql: Sql,
  account: { id: string; email: string },
): Promise<"created" | "email_taken"> {
  const created = await sql`
    with account as (
      insert into accounts (id, email) values (${account.id}, ${account.email})
      on conflict (lower(email)) do nothing
      returning id
    )
    insert into wallets (account_id) select id from account returning account_id`;
  return created.length === 1 ? "created" : "email_taken";
}

/** All accounts, oldest first. */
export async function accounts(sql: Sql): Promise<Account[]> {
  return [
    ...(await sql<Account[]>`
      select ${accountColumns(sql)} from accounts order by created_at, id`),
  ];
}

export async function account(sql: Sql, id: string): Promise<Account | undefined> {
  const [found] = await sql<Account[]>`
    select ${accountColumns(sql)} from accounts where id = ${id}`;
  return found;
}

function accountColumns(sql: Sql) {
  return sql`id, email, status, discount_bps as "discountBps", created_at as "createdAt"`;
}
