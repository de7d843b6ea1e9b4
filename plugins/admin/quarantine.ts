import {
  done,
  EntryRefused,
  formatVnd,
  isRefusal,
  type OperatorRoute,
  readQuery,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import { quarantinePage } from "./input.ts";

/** Routes to list calls that the ledger refused to commit, and to commit one after its cause is fixed. */
export function quarantineRoutes({ ledger }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/quarantine",
      async handle({ query }) {
        const page = readQuery(quarantinePage, query);
        if (isRefusal(page)) return page;
        const calls = await ledger.quarantineList(page.limit);
        return done(
          calls.map(({ entry, reason, since }) => ({
            call_id: entry.posting.callId,
            account_id: entry.posting.accountId,
            at: new Date(entry.posting.at).toISOString(),
            model: entry.posting.model,
            cost_vnd: formatVnd(entry.chargedMicroVnd),
            reason,
            since: since.toISOString(),
          })),
        );
      },
    },
    {
      method: "POST",
      path: "/quarantine/:call/retry",
      async handle({ params }) {
        const callId = params["call"] ?? "";
        try {
          if (await ledger.commitQuarantined(callId)) {
            return done({ call_id: callId, status: "settled" });
          }
          return refuse.notFound("There is no such call in quarantine.", "call");
        } catch (error) {
          if (!(error instanceof EntryRefused)) throw error;
          return refuse.conflict(`The ledger still refuses this call: ${error.message}`, {
            code: "still_refused",
            param: "call",
          });
        }
      },
    },
  ];
}
