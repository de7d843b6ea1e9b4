import type { Discount } from "../catalogue/discount.ts";
import type { KeyBudget, KeyLimits, KeyLimitsChange, KeyLimitsJson } from "./key-limits.ts";

/** Every key begins with this, so that secret scanners recognise it. */
export const KEY_PREFIX = "tg-";
/** How many first characters of a key are stored as plain text. */
export const KEY_SHOWN_CHARACTERS = 10;

export interface Account {
  readonly id: string;
  readonly email: string;
  /** `closed`: by an operator, with all keys revoked. Its money stays. */
  readonly status: "active" | "suspended" | "closed";
  /** The account's own discount; 100 = 1%. */
  readonly discountBps: number;
  readonly createdAt: Date;
}

export interface AccountSearch {
  /** Part of an e-mail address, the id of an account or a key, or the first characters of a key. */
  readonly query?: string | undefined;
  /** The id of the last account of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface NewKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal. */
  readonly hash: string;
  /** The first characters, for display: `tg-ab12…`. */
  readonly prefix: string;
  readonly activeKeysMax: number;
  /** The key's text, encrypted for its owner; null if no plugin seals keys. */
  readonly sealed: SealedKey | null;
  readonly limits: KeyLimitsChange;
}

/** An encrypted key, and the name of the master key that decrypts it. */
export interface SealedKey {
  readonly sealed: Uint8Array;
  readonly sealedBy: string;
}

/** An encrypted key, with the ids that the encryption is bound to. */
export interface SealedKeyRecord extends SealedKey {
  readonly keyId: string;
  readonly accountId: string;
}

/** A key as its owner and operators see it. */
export interface AccountKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly prefix: string;
  readonly status: "active" | "revoked";
  /** Calls per minute: null = the configured default, 0 = unlimited. */
  readonly requestsPerMinute: number | null;
  readonly limits: KeyLimitsJson;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** True if its text is stored, encrypted. */
  readonly isSealed: boolean;
}

/**
 * Accounts and the records of their keys. Once a change resolves, this process applies it; the others follow within
 * seconds. An id that is not well-formed finds nothing.
 */
export interface Accounts {
  /** Creates an account and its empty wallet. */
  create(account: { readonly id: string; readonly email: string }): Promise<NewAccountResult>;
  find(id: string): Promise<Account | undefined>;
  /** Finds an account by its e-mail address, ignoring case. */
  findByEmail(email: string): Promise<Account | undefined>;
  /** Returns accounts, oldest first. */
  search(search: AccountSearch): Promise<Account[]>;

  /**
   * Suspends, closes or reactivates an account. Once this resolves, no process grants a hold to an account that is not
   * active. Returns false if the account does not exist.
   */
  setStatus(id: string, status: Account["status"]): Promise<boolean>;
  /** Sets the account's own discount, in basis points. Returns false if the account does not exist. */
  setDiscount(id: string, discountBps: number): Promise<boolean>;

  /** Returns all keys of an account, oldest first. */
  keys(accountId: string): Promise<AccountKey[]>;
  /** Returns the active keys, then at most `revokedMax` revoked ones, each group newest first. */
  latestKeys(accountId: string, revokedMax: number): Promise<AccountKey[]>;
  /** Returns the id of the account that has a key, whether it is active or revoked. */
  ownerOfKey(keyId: string): Promise<string | undefined>;
  /** Returns the names of keys by id, without unknown ids. For lists that show the keys of one account. */
  keyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Returns the e-mail addresses of accounts by id, without unknown ids. */
  emails(accountIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Sets the calls per minute of a key: null = the configured default, 0 = unlimited. Returns false if the key does not
   * exist.
   */
  setKeyLimit(keyId: string, requestsPerMinute: number | null): Promise<boolean>;
  /**
   * Changes the limits of an active key. Once a pause resolves, no process grants a hold to the key. Returns the key as
   * it is now; undefined if there is none.
   */
  setKeyLimits(keyId: string, change: KeyLimitsChange): Promise<AccountKey | undefined>;
  /** Returns the budgets of a key at this time: none if it is revoked. */
  keyBudgets(key: AccountKey, nowMs: number): readonly KeyBudget[];

  /**
   * Returns the encrypted text of a key of this account: `unsealed` if none is stored, undefined if the key does not
   * exist.
   */
  sealedKey(accountId: string, keyId: string): Promise<SealedKeyRecord | "unsealed" | undefined>;
  /** Returns the keys that a master key other than `masterKey` has sealed, by id, from after the id `after`. */
  keysSealedByOthers(masterKey: string, after: string | undefined): Promise<SealedKeyRecord[]>;
  /** Replaces the encrypted text of a key if `sealedBy` still seals it. Returns false otherwise. */
  resealKey(keyId: string, sealedBy: string, next: SealedKey): Promise<boolean>;
}

export type NewAccountResult = "created" | "email_taken";

/** A key, with the fields of its account that authentication needs. */
export interface KeyRecord {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal. */
  readonly hash: string;
  readonly status: "active" | "revoked";
  /** Calls per minute: null = the configured default, 0 = unlimited. */
  readonly requestsPerMinute: number | null;
  /** Undefined if the key has none. */
  readonly limits: KeyLimits | undefined;
  /** `suspended`: not active. */
  readonly accountStatus: "active" | "suspended";
  /** The account's own discount; 100 = 1%. */
  readonly discountBps: number;
  /**
   * The version of the account's wallet when the key was read. It rises with every movement other than a call; a hold
   * made at an older one returns `stale`.
   */
  readonly creditVersion: number;
}

/** A key, and the discounts that plugins grant to its account, of the same reading. */
export interface CallerKey extends KeyRecord {
  readonly discounts: readonly Discount[];
}

/** Encrypts keys for their owners. Only the sealer can decrypt. Core stores the ciphertext. */
export interface KeySealer {
  seal(keyId: string, accountId: string, secret: string): SealedKey;
}

export type NewKeyResult =
  | { readonly kind: "created"; readonly id: string; readonly key: string; readonly prefix: string }
  | { readonly kind: "no_account" }
  | { readonly kind: "too_many_keys" };

/** Creates API keys, finds them by their SHA-256, and revokes them at once. */
export interface Keys {
  /**
   * Returns the record of a key, even if it is revoked; undefined if there is none. Returns synchronously if the key is
   * cached, or if no key has this form. Rejects if it is not cached, and the ledger is down or takes longer than 5 s.
   */
  find(secret: string): CallerKey | undefined | Promise<CallerKey | undefined>;

  create(
    accountId: string,
    name: string,
    activeKeysMax: number,
    limits?: KeyLimitsChange,
  ): Promise<NewKeyResult>;

  /** Revokes a key. Once this resolves, every process refuses the key. Returns false if the key does not exist. */
  revoke(keyId: string): Promise<boolean>;

  /** Reads a key from the ledger again, to find out why the hold store refused it. */
  refused(key: KeyRecord): Promise<CallerKey | undefined>;

  /**
   * Reads a key again after a credit, which may have earned a discount. Returns it unchanged if the ledger is too slow.
   */
  renew(key: CallerKey): Promise<CallerKey>;
}
