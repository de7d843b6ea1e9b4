import type { Database } from "../database/database.ts";
import { isId } from "../process/id.ts";
import type { KeyRecord, NewKey } from "./account.ts";
import { KeyLimits } from "./key-limits.ts";

export type KeyRows = ReturnType<typeof keyRowsOf>;

const COLUMNS = `key.id, key.account_id as "accountId", key.member_id as "memberId", key.name, key.status,
  key.requests_per_minute as "requestsPerMinute", key.limits::text, account.status as "accountStatus",
  account.discount_bps as "discountBps",
  (select credit_version from wallets where account_id = key.account_id) as "creditVersion"`;

/** The SQL of keys that authentication needs. `loads`: connections for the look-ups of calls. */
export function keyRowsOf(database: Database, loads = database) {
  return {
    /** Returns `too_many_keys` if the account has its maximum of active keys. The limit is exact at any concurrency. */
    async create(key: NewKey): Promise<Created> {
      if (!isId(key.accountId)) return "no_account";
      // A function in the database, so that the limit is exact: see `create_api_key` in the migrations.
      const [row] = await database.query<{ outcome: Created }>(
        "select create_api_key($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb, $10) as outcome",
        [
          key.id,
          key.accountId,
          key.name,
          Buffer.from(key.hash, "hex"),
          key.prefix,
          key.activeKeysMax,
          key.sealed?.sealed ?? null,
          key.sealed?.sealedBy ?? null,
          JSON.stringify(key.limits),
          key.memberId ?? null,
        ],
      );
      return row?.outcome ?? "no_account";
    },

    /** `hash` is hexadecimal, as `KeyRecord.hash`. */
    async byHash(hash: string): Promise<KeyRecord | undefined> {
      const [key] = await loads.query<KeyRow>(
        `select ${COLUMNS} from api_keys key join accounts account on account.id = key.account_id
        where key.hash = $1`,
        [Buffer.from(hash, "hex")],
      );
      return key && recordOf(key, hash);
    },

    /** Idempotent; undefined if there is no such key. */
    async revoke(keyId: string): Promise<KeyRecord | undefined> {
      if (!isId(keyId)) return undefined;
      const [key] = await database.query<KeyRow & { readonly hash: string }>(
        `update api_keys key set status = 'revoked', revoked_at = coalesce(key.revoked_at, now())
        from accounts account
        where key.id = $1 and account.id = key.account_id
        returning ${COLUMNS}, encode(key.hash, 'hex') as hash`,
        [keyId],
      );
      return key && recordOf(key, key.hash);
    },

    /** Returns the secret of the MACs of keys: the same for every gateway of the ledger. */
    async macSecret(): Promise<Buffer> {
      const [row] = await database.query<{ secret: Uint8Array }>("select secret from key_macs");
      if (!row) throw new Error("the ledger has no secret for keys; restore the row of key_macs");
      return Buffer.from(row.secret);
    },
  };
}

type Created = "created" | "no_account" | "too_many_keys";

type KeyRow = Omit<KeyRecord, "hash" | "limits"> & { readonly limits: string | null };

function limitsOf({ id, limits }: KeyRow): KeyLimits | undefined {
  return limits === null
    ? undefined
    : new KeyLimits({ kind: "key", id }, JSON.parse(limits), limits.length);
}

/** Copies a row, so that it takes a third of the memory: thousands of keys are cached. */
function recordOf(row: KeyRow, hash: string): KeyRecord {
  return {
    id: row.id,
    accountId: row.accountId,
    memberId: row.memberId,
    name: row.name,
    hash,
    // All keys share the same two strings, to save memory.
    status: row.status === "active" ? "active" : "revoked",
    requestsPerMinute: row.requestsPerMinute,
    limits: limitsOf(row),
    accountStatus: row.accountStatus === "active" ? "active" : "suspended",
    discountBps: row.discountBps,
    creditVersion: row.creditVersion,
  };
}
