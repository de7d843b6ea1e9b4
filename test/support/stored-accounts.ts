import { StoredAccounts } from "../../core/accounts/accounts.ts";
import type { Database } from "../../core/database/database.ts";

/** The accounts of a database, without a cache of keys and a hold store to tell of changes. */
export function accountsIn(database: Database): StoredAccounts {
  const nothing = async () => {};
  return new StoredAccounts(
    database,
    { forgetAccount() {} },
    { revoke: nothing, restore: nothing },
  );
}
