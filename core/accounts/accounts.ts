import type { Database } from "../database/database.ts";
import type { HoldStore } from "../money/hold-store.ts";
import { isId } from "../process/id.ts";
import type {
  Account,
  AccountKey,
  AccountSearch,
  Accounts,
  NewAccountResult,
  SealedKey,
  SealedKeyRecord,
} from "./account.ts";
import {
  accountByEmail,
  accountById,
  createAccount,
  setAccountDiscount,
  setAccountStatus,
} from "./account-rows.ts";
import { searchAccounts } from "./account-search.ts";
import { keyNames, keysOf, latestKeysOf, setKeyLimit } from "./key-records.ts";
import { keysSealedByOthers, resealKey, sealedKeyOf } from "./sealed-keys.ts";

/** The keys that this process has cached. */
export interface KnownKeys {
  /** Drops an account's cached keys, so that the next call reads them again. */
  forgetAccount(accountId: string): void;
}

/** Accounts and their keys in the database. A change drops the account's cached keys. */
export class StoredAccounts implements Accounts {
  private readonly database: Database;
  private readonly known: KnownKeys;
  private readonly holdStore: Pick<HoldStore, "revoke" | "restore">;

  constructor(
    database: Database,
    known: KnownKeys,
    holdStore: Pick<HoldStore, "revoke" | "restore">,
  ) {
    this.database = database;
    this.known = known;
    this.holdStore = holdStore;
  }

  create(account: { readonly id: string; readonly email: string }): Promise<NewAccountResult> {
    return createAccount(this.database, account);
  }

  async find(id: string): Promise<Account | undefined> {
    return isId(id) ? accountById(this.database, id) : undefined;
  }

  findByEmail(email: string): Promise<Account | undefined> {
    return accountByEmail(this.database, email);
  }

  search(search: AccountSearch): Promise<Account[]> {
    return searchAccounts(this.database, search);
  }

  async setStatus(id: string, status: Account["status"]): Promise<boolean> {
    if (!isId(id)) return false;
    const keyIds = await setAccountStatus(this.database, id, status);
    if (keyIds === undefined) return false;
    this.known.forgetAccount(id);
    const { holdStore } = this;
    const mark = (keyId: string) =>
      status === "suspended" ? holdStore.revoke(keyId, id) : holdStore.restore(keyId, id);
    // Marks all keys at once. If the hold store is down, each change is applied when it reconnects.
    await Promise.all(keyIds.map(mark));
    return true;
  }

  async setDiscount(id: string, discountBps: number): Promise<boolean> {
    if (!isId(id) || !(await setAccountDiscount(this.database, id, discountBps))) return false;
    this.known.forgetAccount(id);
    return true;
  }

  async keys(accountId: string): Promise<AccountKey[]> {
    return isId(accountId) ? keysOf(this.database, accountId) : [];
  }

  async latestKeys(accountId: string, revokedMax: number): Promise<AccountKey[]> {
    return isId(accountId) ? latestKeysOf(this.database, accountId, revokedMax) : [];
  }

  async keyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(keyIds)].filter(isId);
    return ids.length > 0 ? keyNames(this.database, ids) : new Map();
  }

  async setKeyLimit(keyId: string, requestsPerMinute: number | null): Promise<boolean> {
    if (!isId(keyId)) return false;
    const accountId = await setKeyLimit(this.database, keyId, requestsPerMinute);
    if (accountId === undefined) return false;
    this.known.forgetAccount(accountId);
    return true;
  }

  async sealedKey(
    accountId: string,
    keyId: string,
  ): Promise<SealedKeyRecord | "unsealed" | undefined> {
    if (!isId(accountId) || !isId(keyId)) return undefined;
    return sealedKeyOf(this.database, accountId, keyId);
  }

  keysSealedByOthers(masterKey: string, after: string | undefined): Promise<SealedKeyRecord[]> {
    return keysSealedByOthers(this.database, masterKey, after);
  }

  resealKey(keyId: string, sealedBy: string, next: SealedKey): Promise<boolean> {
    return resealKey(this.database, keyId, sealedBy, next);
  }
}
