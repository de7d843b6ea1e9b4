import type { Discount, DiscountSource } from "./discount.ts";

/** Keys begin with this, so that scanners for leaked secrets recognise them. */
export const KEY_PREFIX = "tg-";

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly status: "active" | "suspended";
  /** 100 = 1%. */
  readonly discountBps: number;
  readonly createdAt: Date;
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
  /** Seals every key created from now on; without one, a key's text is gone once it was shown. */
  sealer: KeySealer | undefined;
  /** By the name of the plugin that grants them; asked whenever a key is read. */
  readonly discountSources: Map<string, DiscountSource>;

  /**
   * The record of a key, revoked ones included; undefined if there is none. Returns synchronously if the key is
   * cached. Rejects if the ledger is away and the key is not cached.
   */
  find(secret: string): CallerKey | undefined | Promise<CallerKey | undefined>;

  create(accountId: string, name: string, activeKeysMax: number): Promise<NewKeyResult>;

  /** Once this resolves, every process refuses the key. False if there is no such key. */
  revoke(keyId: string): Promise<boolean>;

  /**
   * Suspends an account or reactivates it. Once this resolves, no process gives a suspended account a hold.
   * False if there is no such account.
   */
  setAccountStatus(accountId: string, status: Account["status"]): Promise<boolean>;

  /** Why the hold store has refused a key: its record, read from the ledger again. */
  refused(key: KeyRecord): Promise<CallerKey | undefined>;

  /** The key as it is after a credit that came since it was read; as it was if the ledger is too slow. */
  renew(key: CallerKey): Promise<CallerKey>;

  /** Drops what is cached of an account's keys: its discount or status has changed. */
  forgetAccount(accountId: string): void;
}
