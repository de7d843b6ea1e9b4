import type { Database } from "../database/database.ts";
import type { HoldStore } from "../money/hold-store.ts";
import { FIRST_ID, isId } from "../process/id.ts";
import {
  type Account,
  type AccountKey,
  type AccountSearch,
  KEY_PREFIX,
  KEY_SHOWN_CHARACTERS,
  type NewAccountResult,
  type SealedKey,
  type SealedKeyRecord,
} from "./account.ts";
import {
  type KeyBudget,
  KeyLimits,
  type KeyLimitsChange,
  type KeyLimitsJson,
  type Limited,
} from "./key-limits.ts";

const ACCOUNT = `
  select id, email, status, discount_bps as "discountBps", created_at as "createdAt" from accounts`;
const KEY = `id, account_id as "accountId", member_id as "memberId", name, prefix, status,
  requests_per_minute as "requestsPerMinute", limits::text, created_at as "createdAt", revoked_at as "revokedAt", sealed is not null as "isSealed"`;
const SEALED_KEY = `
  select id as "keyId", account_id as "accountId", sealed, sealed_by as "sealedBy" from api_keys`;
const SEALED_KEYS_AT_ONCE = 200;

const HAVING = {
  balance: "and exists (select from wallets where account_id = account.id and balance > 0)",
  budgets: "and exists (select from purses where account_id = account.id)",
};

const IS_PAUSED = "coalesce(limits ->> 'paused' = 'true', false)";

type KeyRow = Omit<AccountKey, "limits"> & { readonly limits: string | null };

function keyOf(row: KeyRow): AccountKey {
  const limits: KeyLimitsJson = row.limits === null ? {} : JSON.parse(row.limits);
  return { ...row, limits };
}

/** The keys that this process has cached. */
export interface KnownKeys {
  /** Drops an account's cached keys, so that the next call reads them again. */
  forgetAccount(accountId: string): void;
}

/**
 * Accounts and the records of their keys. Once a change resolves, this process applies it; the others follow within
 * seconds. An id that is not well-formed finds nothing.
 */
export type Accounts = Pick<StoredAccounts, keyof StoredAccounts>;

/** Accounts and their keys in the database. A change drops the account's cached keys. */
export class StoredAccounts {
  constructor(
    private readonly database: Database,
    private readonly known: KnownKeys,
    private readonly holdStore: Pick<HoldStore, "revoke" | "restore">,
  ) {}

  async create({ id, email }: Pick<Account, "id" | "email">): Promise<NewAccountResult> {
    const [row] = await this.database.query<{ created: boolean }>(
      "select create_account($1, $2) as created",
      [id, email],
    );
    return row?.created ? "created" : "email_taken";
  }

  async find(id: string): Promise<Account | undefined> {
    if (!isId(id)) return undefined;
    const [found] = await this.database.query<Account>(`${ACCOUNT} where id = $1`, [id]);
    return found;
  }

  /** Finds an account by its e-mail address, ignoring case. */
  async findByEmail(email: string): Promise<Account | undefined> {
    const byEmail = `${ACCOUNT} where lower(email) = lower($1)`;
    const [found] = await this.database.query<Account>(byEmail, [email]);
    return found;
  }

  /**
   * Returns accounts, oldest first (ids sort by time), or only those with money or budgets: an index for an order by balance would
   * cost each charge a second write. A query is the id of an account or a key, the beginning of a key that exists, an
   * e-mail address, or part of one. Only the last reads all accounts.
   */
  async search({ query, after, limit, having }: AccountSearch): Promise<Account[]> {
    const text = query?.toLowerCase() ?? "";
    const parameters = [after ?? null, limit] as const;
    const page = (condition: string, ...values: readonly string[]) =>
      this.database.query<Account>(
        `${ACCOUNT} account
        where ($1::uuid is null or id > $1) and ${condition}
          ${having ? HAVING[having] : ""}
        order by id limit $2`,
        [...parameters, ...values],
      );
    if (isId(text)) {
      return page(
        "id in (select $3::uuid union select account_id from api_keys where id = $3)",
        text,
      );
    }
    if (text.startsWith(KEY_PREFIX) && text.length > KEY_PREFIX.length) {
      const prefix = query?.slice(0, KEY_SHOWN_CHARACTERS) ?? "";
      const [known] = await this.database.query(
        // Ordered, so that no scan of the table seems quicker.
        `select from api_keys where prefix collate "C" between $1 and $1 || '~'
        order by prefix collate "C" limit 1`,
        [prefix],
      );
      // Otherwise it is an address that begins like a key.
      if (known) {
        return page(
          `id in (select account_id from api_keys where prefix collate "C" between $3 and $3 || '~')`,
          prefix,
        );
      }
    }
    if (text.includes("@")) {
      const named = await page("lower(email) = $3", text);
      if (named.length > 0) return named;
    }
    return text === "" ? page("true") : page("position($3 in lower(email)) > 0", text);
  }

  /**
   * Suspends, closes or reactivates an account. Once this resolves, no process grants a hold to an account that is not
   * active. Returns false if the account does not exist.
   */
  async setStatus(id: string, status: Account["status"]): Promise<boolean> {
    if (!isId(id)) return false;
    const set = "update accounts set status = $2 where id = $1 returning id";
    if ((await this.database.query(set, [id, status])).length === 0) return false;
    const keys = await this.database.query<{ id: string }>(
      `select id from api_keys
      where account_id = $1 and status = 'active' and ($2 <> 'active' or not ${IS_PAUSED})`,
      [id, status],
    );
    this.known.forgetAccount(id);
    const { holdStore } = this;
    const mark = (key: { readonly id: string }) =>
      status === "active" ? holdStore.restore(key.id, id) : holdStore.revoke(key.id, id);
    // Marks all keys at once. If the hold store is down, each change is applied when it reconnects.
    await Promise.all(keys.map(mark));
    return true;
  }

  /** Sets the account's own discount, in basis points. Returns false if the account does not exist. */
  async setDiscount(id: string, discountBps: number): Promise<boolean> {
    if (!isId(id)) return false;
    const set = "update accounts set discount_bps = $2 where id = $1 returning id";
    if ((await this.database.query(set, [id, discountBps])).length === 0) return false;
    this.known.forgetAccount(id);
    return true;
  }

  /** Call when what a plugin knows of an account's keys has changed: every process reads them again, within seconds. */
  async keysChanged(id: string): Promise<void> {
    // Dates the account's change, which the other processes look for.
    await this.database.query("update accounts set status = status where id = $1", [id]);
    this.known.forgetAccount(id);
  }

  /** Returns all keys of an account, oldest first. */
  async keys(accountId: string): Promise<AccountKey[]> {
    if (!isId(accountId)) return [];
    const rows = await this.database.query<KeyRow>(
      `select ${KEY} from api_keys where account_id = $1 order by created_at, id`,
      [accountId],
    );
    return rows.map(keyOf);
  }

  /**
   * Returns the active keys, then at most `revokedMax` revoked ones, each group newest first; with `memberId` only those
   * that he uses.
   */
  async latestKeys(
    accountId: string,
    revokedMax: number,
    memberId?: string,
  ): Promise<AccountKey[]> {
    if (!isId(accountId)) return [];
    const rows = await this.database.query<KeyRow>(
      `select ${KEY}
      from (
        select *, row_number() over (
          partition by status order by coalesce(revoked_at, created_at) desc, id desc
        ) as place
        from api_keys where account_id = $1 and ($3::uuid is null or member_id = $3)
      ) ranked
      where status = 'active' or place <= $2
      order by status, place`,
      [accountId, revokedMax, memberId ?? null],
    );
    return rows.map(keyOf);
  }

  /** Returns keys by the id of one, or by how they begin: at most 20. */
  async findKeys(query: string): Promise<AccountKey[]> {
    const condition = isId(query)
      ? "id = $1::text::uuid"
      : `prefix collate "C" between $1 and $1 || '~' order by prefix collate "C" limit 20`;
    const wanted = isId(query) ? query : query.slice(0, KEY_SHOWN_CHARACTERS);
    const rows = await this.database.query<KeyRow>(
      `select ${KEY} from api_keys where ${condition}`,
      [wanted],
    );
    return rows.map(keyOf);
  }

  /** Returns the id of the account that has a key, whether it is active or revoked. */
  async ownerOfKey(keyId: string): Promise<string | undefined> {
    if (!isId(keyId)) return undefined;
    const [key] = await this.database.query<{ id: string }>(
      "select account_id as id from api_keys where id = $1",
      [keyId],
    );
    return key?.id;
  }

  /** Returns the names of keys by id, without unknown ids. For lists that show the keys of one account. */
  async keyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(keyIds)].filter(isId);
    if (ids.length === 0) return new Map();
    const keys = await this.database.query<{ id: string; name: string }>(
      "select key.id, key.name from api_keys key join unnest($1::text::uuid[]) wanted (id) using (id)",
      [`{${ids.join(",")}}`],
    );
    return new Map(keys.map(({ id, name }) => [id, name]));
  }

  /** Returns the e-mail addresses of accounts by id, without unknown ids. */
  async emails(accountIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const accounts = await this.database.query<{ id: string; email: string }>(
      "select id, email from accounts join unnest($1::text::uuid[]) wanted (id) using (id)",
      [`{${[...new Set(accountIds)].filter(isId).join(",")}}`],
    );
    return new Map(accounts.map(({ id, email }) => [id, email]));
  }

  /**
   * Sets the calls per minute of a key: null = the configured default, 0 = unlimited. Returns false if the key does not
   * exist.
   */
  async setKeyLimit(keyId: string, requestsPerMinute: number | null): Promise<boolean> {
    if (!isId(keyId)) return false;
    const [changed] = await this.database.query<{ accountId: string }>(
      `update api_keys set requests_per_minute = $2 where id = $1
      returning account_id as "accountId"`,
      [keyId, requestsPerMinute],
    );
    if (!changed) return false;
    this.known.forgetAccount(changed.accountId);
    return true;
  }

  /**
   * Changes the limits of an active key. Once a pause resolves, no process grants a hold to the key. Returns the key as
   * it is now; undefined if there is none.
   */
  async setKeyLimits(keyId: string, change: KeyLimitsChange): Promise<AccountKey | undefined> {
    if (!isId(keyId)) return undefined;
    const [row] = await this.database.query<KeyRow & { isServed: boolean }>(
      `update api_keys
      set limits = nullif(jsonb_strip_nulls(coalesce(limits, '{}') || $2::text::jsonb), '{}')
      where id = $1 and status = 'active'
      returning ${KEY}, not ${IS_PAUSED} and exists (
        select from accounts account where account.id = account_id and account.status = 'active'
      ) as "isServed"`,
      [keyId, JSON.stringify(change)],
    );
    if (row === undefined) return undefined;
    const { isServed, ...key } = row;
    this.known.forgetAccount(key.accountId);
    if (change.paused) await this.holdStore.revoke(keyId, key.accountId);
    else if (change.paused === null && isServed) await this.holdStore.restore(keyId, key.accountId);
    return keyOf(key);
  }

  /** Returns the budgets among the limits of a key or a member at this time. */
  budgets(of: Limited, limits: KeyLimitsJson, nowMs: number): readonly KeyBudget[] {
    return new KeyLimits(of, limits).budgets(nowMs);
  }

  /**
   * Returns the encrypted text of a key of this account: `unsealed` if none is stored, undefined if the key does not
   * exist, or is not one that the member `memberId` uses.
   */
  async sealedKey(
    accountId: string,
    keyId: string,
    memberId?: string,
  ): Promise<SealedKeyRecord | "unsealed" | undefined> {
    if (!isId(accountId) || !isId(keyId)) return undefined;
    const [record] = await this.database.query<{
      [K in keyof SealedKeyRecord]: SealedKeyRecord[K] | null;
    }>(`${SEALED_KEY} where id = $1 and account_id = $2 and ($3::uuid is null or member_id = $3)`, [
      keyId,
      accountId,
      memberId ?? null,
    ]);
    if (!record) return undefined;
    const { sealed, sealedBy } = record;
    return sealed && sealedBy ? { keyId, accountId, sealed, sealedBy } : "unsealed";
  }

  /** Returns the keys that a master key other than `masterKey` has sealed, by id, from after the id `after`. */
  keysSealedByOthers(masterKey: string, after = FIRST_ID): Promise<SealedKeyRecord[]> {
    return this.database.query(
      `${SEALED_KEY} where sealed_by <> $1 and id > $2 order by id limit ${SEALED_KEYS_AT_ONCE}`,
      [masterKey, after],
    );
  }

  /** Replaces the encrypted text of a key if `sealedBy` still seals it. Returns false otherwise. */
  async resealKey(keyId: string, sealedBy: string, next: SealedKey): Promise<boolean> {
    const updated = await this.database.query(
      `update api_keys set sealed = $2, sealed_by = $3
      where id = $1 and sealed_by = $4 returning id`,
      [keyId, next.sealed, next.sealedBy, sealedBy],
    );
    return updated.length > 0;
  }
}
