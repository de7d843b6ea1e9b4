import type { Account, NewAccountResult } from "../contract/accounts.ts";
import type { Database } from "../contract/database.ts";

export const SELECT_ACCOUNT = `
  select id, email, status, discount_bps as "discountBps", created_at as "createdAt" from accounts`;

/** Creates an account and its empty wallet in one statement, so that no account lacks a wallet. */
export async function createAccount(
  database: Database,
  account: { readonly id: string; readonly email: string },
): Promise<NewAccountResult> {
  const created = await database.query(
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

export async function accountById(database: Database, id: string): Promise<Account | undefined> {
  const [found] = await database.query<Account>(`${SELECT_ACCOUNT} where id = $1`, [id]);
  return found;
}

export async function accountByEmail(
  database: Database,
  email: string,
): Promise<Account | undefined> {
  const [found] = await database.query<Account>(
    `${SELECT_ACCOUNT} where lower(email) = lower($1)`,
    [email],
  );
  return found;
}

/** Sets the status. Returns the ids of the account's active keys; undefined if there is no such account. */
export async function setAccountStatus(
  database: Database,
  id: string,
  status: Account["status"],
): Promise<string[] | undefined> {
  const set = "update accounts set status = $2 where id = $1 returning id";
  if ((await database.query(set, [id, status])).length === 0) return undefined;
  const keys = await database.query<{ id: string }>(
    "select id from api_keys where account_id = $1 and status = 'active'",
    [id],
  );
  return keys.map((key) => key.id);
}

/** Sets the discount in basis points. Returns false if there is no such account. */
export async function setAccountDiscount(
  database: Database,
  id: string,
  discountBps: number,
): Promise<boolean> {
  const set = "update accounts set discount_bps = $2 where id = $1 returning id";
  return (await database.query(set, [id, discountBps])).length > 0;
}

/** A change of an account or of one of its keys. */
export interface AccountChange {
  readonly accountId: string;
  /** Names the changed row and the time of the change. */
  readonly change: string;
}

/** Returns the changes of the last `withinMs`. Uses only the database's clock: see the triggers in the migrations. */
export function accountChanges(database: Database, withinMs: number): Promise<AccountChange[]> {
  return database.query<AccountChange>(
    `select id as "accountId", id || ' ' || extract(epoch from changed_at) as change
    from accounts where changed_at > now() - make_interval(secs => $1)
    union all
    select account_id, id || ' ' || extract(epoch from changed_at)
    from api_keys where changed_at > now() - make_interval(secs => $1)`,
    [withinMs / 1000],
  );
}
