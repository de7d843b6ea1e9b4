import { type Accounts, type Keys, openAccounts } from "../../../core/accounts/index.ts";
import { type KeyRows, keyRowsOf } from "../../../core/accounts/key-rows.ts";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../core/money/embedded/store.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { recordedLog } from "../../support/log.ts";
import type { LedgerUnderTest } from "../money/ledger/fixtures.ts";
import { NO_PLUGINS } from "./no-plugins.ts";

/** Accounts on a started ledger; its migrations have created their tables. */
export interface AccountsUnderTest extends LedgerUnderTest {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly rows: KeyRows;
  readonly holdStore: EmbeddedHoldStore;
}

export function accountsOn(subject: LedgerUnderTest): AccountsUnderTest {
  const { log } = recordedLog();
  const { database } = subject.ledger;
  const journal = { folder: "never-opened", bytesMax: 1, sync: false, log };
  const holdStore = createEmbeddedHoldStore({
    journal,
    outboxEntriesMax: 1,
    history: new MemoryHistory(),
  });
  const { accounts, keys } = openAccounts({
    loads: database,
    database,
    holdStore,
    clock: systemClock,
    log,
    slots: NO_PLUGINS,
    cacheBytesMax: 1_000_000,
  });
  return { ...subject, accounts, keys, rows: keyRowsOf(database), holdStore };
}
