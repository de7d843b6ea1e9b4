import type { Ledger } from "../../contract/ledger.ts";

/**
 * What the Redis store reads from the ledger: wallets, whether it has a post or a movement whose outcome Redis does not
 * know, and whether it lost commits.
 */
export type LedgerLookup = Pick<Ledger, "wallet" | "hasCall" | "credited" | "history">;
