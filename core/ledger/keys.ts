import type { Sql } from "./client.ts";
import type { KeyRecord, NewKey } from "./ledger.ts";

/** The lock on the account's row makes the count exact: of two keys at once, the second sees the first. */
export function createKey(
  sql: Sql,
  key: NewKey,
): Promise<"created" | "no_account" | "too_many_keys"> {
  return sql.begin(async (tx) => {
    const [account] = await tx`select from accounts where id = ${key.accountId} for update`;
    if (account === undefined) return "no_account";
    const created = await tx`
      insert into api_keys (id, account_id, name, hash, prefix)
      select ${key.id}, ${key.accountId}, ${key.name}, ${key.hash}, ${key.prefix}
      where ${key.activeKeysMax} > (
        select count(*) from api_keys where account_id = ${key.accountId} and status = 'active'
      )
      returning id`;
    return created.length === 1 ? "created" : "too_many_keys";
  });
}

export async function keyByHash(sql: Sql, hash: Buffer): Promise<KeyRecord | undefined> {
  const [key] = await sql<KeyRecord[]>`
    select ${keyColumns(sql)} from api_keys key join accounts account on account.id = key.account_id
    where key.hash = ${hash}`;
  return key;
}

export async function revokeKey(sql: Sql, keyId: string): Promise<KeyRecord | undefined> {
  const [key] = await sql<KeyRecord[]>`
    update api_keys key set status = 'revoked', revoked_at = coalesce(key.revoked_at, now())
    from accounts account
    where key.id = ${keyId} and account.id = key.account_id
    returning ${keyColumns(sql)}`;
  return key;
}

function keyColumns(sql: Sql) {
  return sql`key.id, key.account_id as "accountId", key.name, key.hash, key.status,
    key.requests_per_minute as "requestsPerMinute", account.status as "accountStatus",
    account.discount_bps as "discountBps"`;
}
