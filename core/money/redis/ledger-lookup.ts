import type { Ledger } from "../../contract/ledger.ts";

/** What the Redis store reads from the ledger: wallets, and whether a post that Redis may have lost is committed. */
export type LedgerLookup = Pick<Ledger, "wallet" | "hasCall">;
