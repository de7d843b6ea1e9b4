import type { KeyRecord, NewKey } from "../contract/accounts.ts";
import type { Sql } from "../database/client.ts";

type Created = "created" | "no_account" | "too_many_keys";

const COLUMNS = `key.id, key.account_id as "accountId", key.name, key.hash, key.status,
  key.requests_per_minute as "requestsPerMinute", account.status as "accountStatus",
  account.discount_bps as "discountBps",
  (select credit_version from wallets where account_id = key.account_id) as "creditVersion"`;

/** The limit of active keys is exact, however many are made at once: see `create_api_key` in the migrations. */
export async function createKey(sql: Sql, key: NewKey): Promise<Created> {
  const [row] = await sql.query<{ outcome: Created }>(
    "select create_api_key($1, $2, $3, $4, $5, $6, $7, $8) as outcome",
    [
      key.id,
      key.accountId,
      key.name,
      key.hash,
      key.prefix,
      key.activeKeysMax,
      key.sealed?.sealed ?? null,
      key.sealed?.sealedBy ?? null,
    ],
  );
  return row?.outcome ?? "no_account";
}

export async function keyByHash(sql: Sql, hash: Buffer): Promise<KeyRecord | undefined> {
  const [key] = await sql.query<KeyRecord>(
    `select ${COLUMNS} from api_keys key join accounts account on account.id = key.account_id
    where key.hash = $1`,
    [hash],
  );
  return key;
}

export async function revokeKey(sql: Sql, keyId: string): Promise<KeyRecord | undefined> {
  const [key] = await sql.query<KeyRecord>(
    `update api_keys key set status = 'revoked', revoked_at = coalesce(key.revoked_at, now())
    from accounts account
    where key.id = $1 and account.id = key.account_id
    returning ${COLUMNS}`,
    [keyId],
  );
  return key;
}
