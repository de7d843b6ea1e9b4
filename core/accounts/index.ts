import type { Database } from "../database/database.ts";
import { type Accounts, StoredAccounts } from "./accounts.ts";
import { accountChanges, KeyChanges } from "./key-changes.ts";
import { keyRowsOf } from "./key-rows.ts";
import { CachedKeys, type CachedKeysOptions } from "./keys.ts";
import { AuditTrail } from "./operator-actions.ts";

export type { AccountKey, CallerKey, KeySealer, TeamMembers } from "./account.ts";
export type { Accounts } from "./accounts.ts";
export type { KeyLimitsChange, KeyLimitsJson, Limited } from "./key-limits.ts";
export type { Keys } from "./keys.ts";
export type { OperatorActions } from "./operator-actions.ts";

export type AccountsRoom = ReturnType<typeof openAccounts>;

interface AccountsOptions extends Omit<CachedKeysOptions, "rows"> {
  readonly database: Database;
  /** The same, for what calls wait for: no page holds it up. */
  readonly loads: Database;
}

/** Opens accounts, their keys and the audit trail. This folder has all SQL of their tables. */
export function openAccounts({ database, loads, ...options }: AccountsOptions) {
  const { holdStore, clock, log } = options;
  const keys = new CachedKeys({ ...options, rows: keyRowsOf(database, loads) });
  const accounts: Accounts = new StoredAccounts(database, keys, holdStore);
  const readChanges = (withinMs: number) => accountChanges(loads, withinMs);
  return {
    accounts,
    keys,
    operatorActions: new AuditTrail(database),
    /** Not started here: `boot` starts it if other processes share the database. */
    keyChanges: new KeyChanges(readChanges, keys, clock, log),
  };
}
