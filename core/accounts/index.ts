import type { Database } from "../database/database.ts";
import type { HoldStore } from "../money/hold-store.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { type Accounts, StoredAccounts } from "./accounts.ts";
import { accountChanges, KeyChanges } from "./key-changes.ts";
import { keyRowsOf } from "./key-rows.ts";
import { CachedKeys, type KeySlots, type Keys } from "./keys.ts";
import { AuditTrail, type OperatorActions } from "./operator-actions.ts";

export type { Account, AccountKey, CallerKey, KeySealer, MemberLimits } from "./account.ts";
export type { Accounts } from "./accounts.ts";
export type { KeyLimitsChange, KeyLimitsJson, Limited } from "./key-limits.ts";
export type { Keys } from "./keys.ts";
export type { OperatorActions } from "./operator-actions.ts";

export interface AccountsRoom {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly operatorActions: OperatorActions;
  /** Not started here: `boot` starts it if other processes share the database. */
  readonly keyChanges: KeyChanges;
  /** Reads the secret of the MACs of keys from the ledger. Until then, every string passes for a key. */
  start(): Promise<void>;
}

interface AccountsOptions {
  readonly database: Database;
  /** The same, for what calls wait for: no page holds it up. */
  readonly loads: Database;
  readonly holdStore: HoldStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly slots: KeySlots;
  /** Maximum memory for cached keys, in bytes. */
  readonly keyCacheBytesMax: number;
}

/** Opens accounts, their keys and the audit trail. This folder has all SQL of their tables. */
export function openAccounts(options: AccountsOptions): AccountsRoom {
  const {
    database,
    loads,
    holdStore,
    clock,
    log,
    slots,
    keyCacheBytesMax: cacheBytesMax,
  } = options;
  const rows = keyRowsOf(database, loads);
  const keys = new CachedKeys({ rows, holdStore, clock, log, slots, cacheBytesMax });
  const readChanges = (withinMs: number) => accountChanges(loads, withinMs);
  return {
    accounts: new StoredAccounts(database, keys, holdStore),
    keys,
    operatorActions: new AuditTrail(database),
    keyChanges: new KeyChanges(readChanges, keys, clock, log),
    start: () => keys.start(),
  };
}
