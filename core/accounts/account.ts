import type { Discount } from "../catalogue/discount.ts";
import type { KeyLimits, KeyLimitsChange, KeyLimitsJson } from "./key-limits.ts";

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
  /** Only accounts whose wallet has money in the ledger, or with a budget that a call was charged to. */
  readonly having?: "balance" | "budgets" | undefined;
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
  readonly memberId: string | undefined;
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
  /** The member of a team who uses it; null if the owner of the account does. */
  readonly memberId: string | null;
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

export type NewAccountResult = "created" | "email_taken";

/** A key, with the fields of its account that authentication needs. */
export interface KeyRecord
  extends Pick<
    AccountKey,
    "id" | "accountId" | "memberId" | "name" | "status" | "requestsPerMinute"
  > {
  /** SHA-256 of the key, in hexadecimal. */
  readonly hash: string;
  readonly limits: KeyLimits | undefined;
  readonly accountStatus: "active" | "suspended";
  /** The account's own discount; 100 = 1%. */
  readonly discountBps: number;
  /**
   * The version of the account's wallet when the key was read. It rises with every movement other than a call; a hold
   * made at an older one returns `stale`.
   */
  readonly creditVersion: number;
}

/** Knows the members of teams. */
export interface TeamMembers {
  /**
   * Returns the limits of a member, which hold for all keys that he uses; undefined if he is in no team any more, or his own
   * account is suspended, and then his keys serve no calls.
   */
  limitsOf(memberId: string): Promise<KeyLimitsJson | undefined>;
  /** Returns the keys that the person of an account has as a member of others' teams. */
  keysOf(accountId: string): Promise<readonly AccountKey[]>;
}

/** A key, with the limits of its member and the discounts that plugins grant to its account, of the same reading. */
export interface CallerKey extends KeyRecord {
  readonly discounts: readonly Discount[];
}

/** Encrypts keys for their owners. Only the sealer can decrypt. Core stores the ciphertext. */
export interface KeySealer {
  /** The name of the key of its own that seals now; undefined if there is none. */
  readonly newest: string | undefined;
  seal(keyId: string, accountId: string, secret: string): SealedKey;
  /** Decrypts what it has sealed for these ids; undefined if it cannot. */
  unseal(record: SealedKeyRecord): string | undefined;
}

export type NewKeyResult =
  | { readonly kind: "created"; readonly id: string; readonly key: string; readonly prefix: string }
  | { readonly kind: "no_account" }
  | { readonly kind: "too_many_keys" };
