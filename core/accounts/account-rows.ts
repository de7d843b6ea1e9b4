import type { Account } from "../contract/accounts.ts";
import type { Sql } from "../database/client.ts";

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

export async function setAccountStatus(
  sql: Sql,
  id: string,
  status: Account["status"],
): Promise<string[] | undefined> {
  const set = "update accounts set status = $2 where id = $1 returning id";
  if ((await sql.query(set, [id, status])).length === 0) return undefined;
  const keys = await sql.query<{ id: string }>(
    "select id from api_keys where account_id = $1 and status = 'active'",
    [id],
  );
  return keys.map((key) => key.id);
}

/** By the database's clock alone: see the triggers in the migrations. */
export async function changedAccounts(sql: Sql, withinMs: number): Promise<string[]> {
  const rows = await sql.query<{ id: string }>(
    `select id from accounts where changed_at > now() - make_interval(secs => $1)
    union
    select account_id from api_keys where changed_at > now() - make_interval(secs => $1)`,
    [withinMs / 1000],
  );
  return rows.map(({ id }) => id);
}

export async function account(sql: Sql, id: string): Promise<Account | undefined> {
  const [found] = await sql.query<Account>(`${SELECT} where id = $1`, [id]);
  return found;
}
