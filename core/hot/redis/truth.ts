import type { Ledger } from "../../ledger/ledger.ts";
import type { Truth } from "./offers.ts";

/** Sorts after every call id, so that a page which ends before it begins with the calls of that instant. */
const LAST_CALL_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const PAGE = 100;

/** Answers the store's questions from the ledger: a settled call has its usage record, whatever it cost. */
export function truthOf(ledger: Pick<Ledger, "wallet" | "usage">): Truth {
  return {
    wallet: (accountId) => ledger.wallet(accountId),

    async hasCall({ accountId, at, callId }) {
      let before = { at: new Date(at), callId: LAST_CALL_ID };
      for (;;) {
        const page = await ledger.usage({ accountId, limit: PAGE, before });
        if (page.some((record) => record.callId === callId)) return true;
        const last = page.at(-1);
        if (last === undefined || last.at.getTime() < at) return false;
        before = { at: last.at, callId: last.callId };
      }
    },
  };
}
