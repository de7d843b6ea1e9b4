import type { Ledger } from "../../contract/ledger.ts";

/** What the store asks the ledger: for wallets, and for posts of which Redis may have forgotten what became of them. */
export type LedgerLookup = Pick<Ledger, "wallet" | "hasCall">;
