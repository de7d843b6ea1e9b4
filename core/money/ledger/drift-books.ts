import type { Database } from "../../database/database.ts";
import { quarantinedOf } from "./purses.ts";

/** Figures of the ledger for a wallet, in µđ: see `wallet_evidence`. Of a purse, balances are below zero. */
export interface Evidence {
  readonly balance: bigint;
  readonly entries: bigint;
  /** The sum of all rows as `reconcile` has it. */
  readonly summed: bigint;
  readonly quarantined: bigint;
  readonly proven: bigint | null;
  /** These are of wallets only. */
  readonly lastBalance?: bigint;
  readonly breaks?: bigint;
  readonly added?: bigint;
  readonly credited?: bigint;
  readonly taken?: bigint;
  readonly charged?: bigint;
  readonly counted?: bigint;
}

interface Mend {
  readonly accountId: string;
  readonly purse: string | null;
  /** The differences of the stored balance and of the sum of all rows to the proven amount. */
  readonly balance: bigint;
  readonly entries: bigint;
  readonly reference: string;
  readonly reason: string;
}

/** Reads what the ledger says of a wallet or a purse, and mends it there. */
export interface DriftBooks {
  /** Returns undefined if there is no such wallet. Zeros for a purse that was never charged. */
  evidence(accountId: string, purse: string | null): Promise<Evidence | undefined>;
  /** Returns false, and changes nothing, if the differences are others by now. */
  mend(mend: Mend): Promise<boolean>;
}

export function driftBooksOf(database: Database): DriftBooks {
  return {
    async evidence(accountId, purse) {
      const [found] = await (purse === null
        ? database.query<Evidence>(
            `select balance, entries, summed, last_balance as "lastBalance", breaks, added, credited, taken, charged,
              counted, quarantined, proven
            from wallet_evidence($1::text::uuid)`,
            [accountId],
          )
        : database.query<Evidence>(
            `select -stored as balance, -entries as entries, -summed as summed, -entries as proven,
              ${quarantinedOf("$1::text", "$2")} as quarantined
            from purse_evidence($1::text::uuid, $2)`,
            [accountId, purse],
          ));
      return found;
    },
    async mend({ accountId, purse, balance, entries, reference, reason }) {
      const [result] = await (purse === null
        ? database.query<{ outcome: string }>(
            "select mend_wallet($1::text::uuid, $2, $3, $4, $5) as outcome",
            [accountId, balance, entries, reference, reason],
          )
        : database.query<{ outcome: string }>(
            "select mend_purse($1::text::uuid, $2, $3) as outcome",
            [accountId, purse, -balance],
          ));
      return result?.outcome === "mended";
    },
  };
}
