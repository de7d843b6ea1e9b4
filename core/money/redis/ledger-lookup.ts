import type { Ledger } from "../../contract/ledger.ts";
import type { Truth } from "./resender.ts";

/** Answers the store's questions from the ledger. */
export function truthOf(ledger: Pick<Ledger, "wallet" | "hasCall">): Truth {
  return {
    wallet: (accountId) => ledger.wallet(accountId),
    hasCall: ({ callId, at }) => ledger.hasCall({ callId, at }),
  };
}
