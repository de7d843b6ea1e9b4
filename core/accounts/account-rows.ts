import type { Database } from "../database/database.ts";
import { FIRST_ID } from "../process/id.ts";
import type { Account, NewAccountResult } from "./account.ts";

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

/** Rows of `accountChanges` in one page: a statement for all accounts may change a million of them. */
const CHANGES_AT_ONCE = 1_000;

interface ChangeRow extends AccountChange {
  readonly at: string;
  readonly id: string;
}

/**
 * Yields the changes of the last `withinMs` in pages, the oldest first. Uses only the database's clock: see the triggers
 * in the migrations.
 */
export async function* accountChanges(
  database: Database,
  withinMs: number,
): AsyncGenerator<AccountChange[]> {
  const pageOf = (table: string, accountId: string) =>
    `(select ${accountId} as account_id, id, changed_at from ${table}
    where changed_at >= coalesce($1::text::timestamptz, now() - make_interval(secs => $3))
      and (changed_at, id) > (coalesce($1::text::timestamptz, now() - make_interval(secs => $3)), $2::uuid)
    order by changed_at, id limit $4)`;
  let after: { readonly at: string | null; readonly id: string } = { at: null, id: FIRST_ID };
  for (;;) {
    const rows: ChangeRow[] = await database.query<ChangeRow>(
      `select account_id as "accountId", id, changed_at::text as at,
        id || ' ' || extract(epoch from changed_at) as change
      from (${pageOf("accounts", "id")} union all ${pageOf("api_keys", "account_id")}) changes
      order by changed_at, changes.id limit $4`,
      [after.at, after.id, withinMs / 1_000, CHANGES_AT_ONCE],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < CHANGES_AT_ONCE) return;
    after = last;
  }
}
