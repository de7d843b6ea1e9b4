import type { Accounts, Keys } from "../contract/accounts.ts";
import type { Database } from "../contract/database.ts";
import type { HoldStore } from "../contract/hold-store.ts";
import type { OperatorActions } from "../contract/operator-actions.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { changedAccounts } from "./account-rows.ts";
import { StoredAccounts } from "./accounts.ts";
import { KeyChanges } from "./key-changes.ts";
import { keyRowsOf } from "./key-rows.ts";
import { CachedKeys, type KeySlots } from "./keys.ts";
import { AuditTrail } from "./operator-actions.ts";

interface AccountsRoom {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly operatorActions: OperatorActions;
  /** Not started here: `boot` starts it if other processes share the database. */
  readonly keyChanges: KeyChanges;
}

/** Opens accounts, their keys and the audit trail. This folder has all SQL of their tables. */
export function openAccounts(
  database: Database,
  holdStore: HoldStore,
  clock: Clock,
  log: Log,
  slots: KeySlots,
): AccountsRoom {
  const keys = new CachedKeys(keyRowsOf(database), holdStore, clock, log, slots);
  const changed = (withinMs: number) => changedAccounts(database, withinMs);
  return {
    accounts: new StoredAccounts(database, keys, holdStore),
    keys,
    operatorActions: new AuditTrail(database),
    keyChanges: new KeyChanges(changed, keys, clock, log),
  };
}
