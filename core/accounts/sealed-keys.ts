import type { Database } from "../database/database.ts";
import { FIRST_ID } from "../process/id.ts";
import type { SealedKey, SealedKeyRecord } from "./account.ts";

const BATCH = 200;
const SELECT = `
  select id as "keyId", account_id as "accountId", sealed, sealed_by as "sealedBy" from api_keys`;

/** Returns a key with its ciphertext; "unsealed" if it has none; undefined if the account has no such key. */
export async function sealedKeyOf(
  database: Database,
  accountId: string,
  keyId: string,
): Promise<SealedKeyRecord | "unsealed" | undefined> {
  const [record] = await database.query<{
    [K in keyof SealedKeyRecord]: SealedKeyRecord[K] | null;
  }>(`${SELECT} where id = $1 and account_id = $2`, [keyId, accountId]);
  if (!record) return undefined;
  const { sealed, sealedBy } = record;
  return sealed && sealedBy ? { keyId, accountId, sealed, sealedBy } : "unsealed";
}

/** Returns up to 200 keys that another master key has sealed, with ids above `after`, by id. */
export function keysSealedByOthers(
  database: Database,
  masterKey: string,
  after = FIRST_ID,
): Promise<SealedKeyRecord[]> {
  return database.query(`${SELECT} where sealed_by <> $1 and id > $2 order by id limit ${BATCH}`, [
    masterKey,
    after,
  ]);
}

/** Replaces a ciphertext. Returns false, and keeps the stored one, if another process has replaced it first. */
export async function resealKey(
  database: Database,
  keyId: string,
  sealedBy: string,
  next: SealedKey,
): Promise<boolean> {
  const updated = await database.query(
    `update api_keys set sealed = $2, sealed_by = $3
    where id = $1 and sealed_by = $4 returning id`,
    [keyId, next.sealed, next.sealedBy, sealedBy],
  );
  return updated.length > 0;
}
