import type { Test } from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { refusedCallsTests } from "../../usage/refused-calls.ts";
import { usageBooksTests } from "../../usage/usage-books.ts";
import { commitTests } from "./commit.ts";
import { creditTests } from "./credit.ts";
import { epochsTests } from "./epochs.ts";
import { guardTests } from "./guards.ts";
import { historyTests } from "./history.ts";
import { proofTests } from "./proof.ts";
import { purseTests } from "./purses.ts";
import { quarantineTests } from "./quarantine.ts";
import { topUpTests } from "./top-ups.ts";
import { usageTests } from "./usage.ts";

/** A started ledger, and a separate connection to check its tables. */
export interface LedgerUnderTest {
  readonly ledger: PostgresLedger;
  readonly sql: Sql;
}

/** The tests of every ledger, for any Postgres behind it. `get` returns the same ledger for all tests. */
export function ledgerConformance(t: Test, name: string, get: () => LedgerUnderTest): void {
  t.test(`ledger: ${name}`, async (t) => {
    commitTests(t, get);
    quarantineTests(t, get);
    creditTests(t, get);
    purseTests(t, get);
    topUpTests(t, get);
    usageTests(t, get);
    usageBooksTests(t, get);
    refusedCallsTests(t, get);
    guardTests(t, get);
    historyTests(t, get);
    epochsTests(t, get);
    proofTests(t, get);
  });
}
