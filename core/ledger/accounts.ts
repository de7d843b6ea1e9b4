import type { Sql } from "./client.ts";
import type { Account } from "./ledger.ts";

const SELECT = `
  select id, email, status, discount_bps as "discountBps", created_at as "createdAt" from accounts`;

/** An account and its empty wallet; `email_taken` where another has the address, in any case of letters. */
export async function createAccount(
  sql: Sql,
  account: { id: string; email: string },
): Promise<"created" | "email_taken"> {
  const created = await sql.query(
    `with account as (
      insert into accounts (id, email) values ($1, $2)
      on conflict (lower(email)) do nothing
      returning id
    )
    insert into wallets (account_id) select id from account returning account_id`,
    [account.id, account.email],
  );
  return created.length === 1 ? "created" : "email_taken";
}

/** All accounts, oldest first. */
export function accounts(sql: Sql): Promise<Account[]> {
  return sql.query(`${SELECT} order by created_at, id`);
}

export async function account(sql: Sql, id: string): Promise<Account | undefined> {
  const [found] = await sql.query<Account>(`${SELECT} where id = $1`, [id]);
  return found;
}
