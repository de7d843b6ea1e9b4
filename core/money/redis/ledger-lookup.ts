import type { Ledger } from "../ledger.ts";

/**
 * The reads of the Redis store from the ledger: wallets, whether the ledger has a post or a movement whose outcome
 * Redis does not know, and whether it lost commits.
 */
export type LedgerLookup = Pick<Ledger, "wallet" | "hasCall" | "credited" | "history">;
