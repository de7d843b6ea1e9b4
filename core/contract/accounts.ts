import type { Discount } from "./discount.ts";

/** Keys begin with this, so that scanners for leaked secrets recognise them. */
export const KEY_PREFIX = "tg-";
/** The first characters of a key, which are kept in the clear. */
export const KEY_SHOWN_CHARACTERS = 10;

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly status: "active" | "suspended";
  /** 100 = 1%. */
  readonly discountBps: number;
  readonly createdAt: Date;
}

export interface AccountSearch {
  /** Part of an e-mail address, the id of an account or a key, or the first characters of a key. */
  readonly query?: string | undefined;
  /** The last account of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface NewKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  /** First characters, to recognise it by: `tg-ab12…`. */
  readonly prefix: string;
  readonly activeKeysMax: number;
  /** Its text for its owner, where somebody seals keys. */
  readonly sealed: SealedKey | null;
}

/** A key encrypted, and the name of the master key that opens it. */
export interface SealedKey {
  readonly sealed: Uint8Array;
  readonly sealedBy: string;
}

/** An encrypted key, with what the encryption is bound to. */
export interface SealedKeyRecord extends SealedKey {
  readonly keyId: string;
  readonly accountId: string;
}

/** A key as its owner and operators see it. */
export interface AccountKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly status: "active" | "revoked";
  /** Calls per minute; null: the configured default, 0: not limited. */
  readonly requestsPerMinute: number | null;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** True if its text is kept, sealed. */
  readonly isSealed: boolean;
}

/**
 * Accounts and the records of their keys. A change is in force in this process once it resolves, and in the others a
 * few seconds later. A text that is no id finds nothing.
 */
export interface Accounts {
  /** Creates an account and its empty wallet. */
  create(account: { readonly id: string; readonly email: string }): Promise<NewAccountResult>;
  find(id: string): Promise<Account | undefined>;
  /** In any case of letters. */
  findByEmail(email: string): Promise<Account | undefined>;
  /** Oldest first. */
  search(search: AccountSearch): Promise<Account[]>;

  /**
   * Suspends an account or reactivates it. Once this resolves, no process gives a suspended account a hold.
   * False if there is no such account.
   */
  setStatus(id: string, status: Account["status"]): Promise<boolean>;
  /** In basis points. False if there is no such account. */
  setDiscount(id: string, discountBps: number): Promise<boolean>;

  /** All keys of an account, oldest first. */
  keys(accountId: string): Promise<AccountKey[]>;
  /** Its active keys, then at most `revokedMax` revoked ones; each kind newest first. */
  latestKeys(accountId: string, revokedMax: number): Promise<AccountKey[]>;
  /** The names of keys by their ids, without those that do not exist; for lists that show keys of one account. */
  keyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** In calls per minute; null: the configured default, 0: not limited. False if there is no such key. */
  setKeyLimit(keyId: string, requestsPerMinute: number | null): Promise<boolean>;

  /** The sealed text of a key of this account; `unsealed` if none was kept, undefined if there is no such key. */
  sealedKey(accountId: string, keyId: string): Promise<SealedKeyRecord | "unsealed" | undefined>;
  /** Keys sealed by any master key but this one, ordered by id, after the id `after`. */
  keysSealedByOthers(masterKey: string, after: string | undefined): Promise<SealedKeyRecord[]>;
  /** Replaces the sealed text of a key if `sealedBy` still seals it; false otherwise. */
  resealKey(keyId: string, sealedBy: string, next: SealedKey): Promise<boolean>;
}

export type NewAccountResult = "created" | "email_taken";

/** A key as authentication needs it, with what it needs of its account. */
export interface KeyRecord {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly hash: Buffer;
  readonly status: "active" | "revoked";
  /** Calls per minute; null: the configured default, 0: not limited. */
  readonly requestsPerMinute: number | null;
  readonly accountStatus: "active" | "suspended";
  /** The account's own, beside what it has earned. */
  readonly discountBps: number;
  /** Of the account's wallet, when the key was read. */
  readonly creditVersion: number;
}

/** A key with what its account has earned, as of one reading. */
export interface CallerKey extends KeyRecord {
  readonly discounts: readonly Discount[];
}

/** Encrypts keys for their owners. Only who seals can open: the core keeps what it is given. */
export interface KeySealer {
  seal(keyId: string, accountId: string, secret: string): SealedKey;
}

export type NewKeyResult =
  | { readonly kind: "created"; readonly id: string; readonly key: string; readonly prefix: string }
  | { readonly kind: "no_account" }
  | { readonly kind: "too_many_keys" };

/** API keys: created, found by their SHA-256, revoked at once. */
export interface Keys {
  /**
   * The record of a key, revoked ones included; undefined if there is none. Returns synchronously if the key is
   * cached. Rejects if the ledger is away and the key is not cached.
   */
  find(secret: string): CallerKey | undefined | Promise<CallerKey | undefined>;

  create(accountId: string, name: string, activeKeysMax: number): Promise<NewKeyResult>;

  /** Once this resolves, every process refuses the key. False if there is no such key. */
  revoke(keyId: string): Promise<boolean>;

  /** Why the hold store has refused a key: its record, read from the ledger again. */
  refused(key: KeyRecord): Promise<CallerKey | undefined>;

  /** The key as it is after a credit that came since it was read; as it was if the ledger is too slow. */
  renew(key: CallerKey): Promise<CallerKey>;
}
