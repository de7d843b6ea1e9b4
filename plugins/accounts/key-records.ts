import type { Database } from "../../core/contract/index.ts";
import type { SealedRecord } from "./sealing/sealer.ts";

/** A key as its owner sees it. */
export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly status: "active" | "revoked";
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly costMicroVnd: bigint;
  readonly isRecoverable: boolean;
}

/** Revoked keys that a list shows; an account can have any number of them. */
const REVOKED_SHOWN_MAX = 100;

/** The keys of an account: active ones first, then the latest that were revoked. */
export function keysOf(database: Database, accountId: string): Promise<KeyRow[]> {
  return database.query(
    `with used as (
      select key_id, sum(charged)::bigint as cost, max(last_at) as last_at
      from usage_daily where account_id = $1 group by key_id
    ),
    shown as (
      select *, row_number() over (
        partition by status order by coalesce(revoked_at, created_at) desc, id desc
      ) as place
      from api_keys where account_id = $1
    )
    select id, name, prefix, status, created_at as "createdAt", revoked_at as "revokedAt",
      used.last_at as "lastUsedAt", coalesce(used.cost, 0) as "costMicroVnd",
      sealed is not null as "isRecoverable"
    from shown left join used on used.key_id = shown.id
    where status = 'active' or place <= ${REVOKED_SHOWN_MAX}
    order by status, place`,
    [accountId],
  );
}

/** A key of this account and what it is sealed in, which may be nothing; undefined where it has no such key. */
export async function keyOf(
  database: Database,
  accountId: string,
  keyId: string,
): Promise<SealedRecord | "unsealed" | undefined> {
  const [record] = await database.query<{ [K in keyof SealedRecord]: SealedRecord[K] | null }>(
    `select id as "keyId", account_id as "accountId", sealed, sealed_by as "sealedBy"
    from api_keys where id = $1 and account_id = $2`,
    [keyId, accountId],
  );
  if (!record) return undefined;
  const { sealed, sealedBy } = record;
  return sealed && sealedBy ? { keyId, accountId, sealed, sealedBy } : "unsealed";
}
