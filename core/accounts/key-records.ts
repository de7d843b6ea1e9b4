import type { Database } from "../database/database.ts";
import type { AccountKey } from "./account.ts";

const COLUMNS = `id, name, prefix, status, requests_per_minute as "requestsPerMinute",
  created_at as "createdAt", revoked_at as "revokedAt", sealed is not null as "isSealed"`;

/** Returns all keys of an account, oldest first. */
export function keysOf(database: Database, accountId: string): Promise<AccountKey[]> {
  return database.query(
    `select ${COLUMNS} from api_keys where account_id = $1 order by created_at, id`,
    [accountId],
  );
}

/** Returns all active keys, then the latest `revokedMax` revoked ones: an account can have any number of those. */
export function latestKeysOf(
  database: Database,
  accountId: string,
  revokedMax: number,
): Promise<AccountKey[]> {
  return database.query(
    `select ${COLUMNS}
    from (
      select *, row_number() over (
        partition by status order by coalesce(revoked_at, created_at) desc, id desc
      ) as place
      from api_keys where account_id = $1
    ) ranked
    where status = 'active' or place <= $2
    order by status, place`,
    [accountId, revokedMax],
  );
}

/** Returns names by key id; leaves out keys that do not exist. */
export async function keyNames(
  database: Pick<Database, "query">,
  keyIds: readonly string[],
): Promise<Map<string, string>> {
  const keys = await database.query<{ id: string; name: string }>(
    "select key.id, key.name from api_keys key join unnest($1::text::uuid[]) wanted (id) using (id)",
    [`{${keyIds.join(",")}}`],
  );
  return new Map(keys.map(({ id, name }) => [id, name]));
}

/** Sets a key's own limit; null removes it. Returns the key's account; undefined if there is no such key. */
export async function setKeyLimit(
  database: Database,
  keyId: string,
  requestsPerMinute: number | null,
): Promise<string | undefined> {
  const [changed] = await database.query<{ accountId: string }>(
    `update api_keys set requests_per_minute = $2 where id = $1
    returning account_id as "accountId"`,
    [keyId, requestsPerMinute],
  );
  return changed?.accountId;
}
