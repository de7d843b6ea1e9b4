import {
  done,
  EntryRefused,
  EntryUnreadable,
  formatVnd,
  isRefusal,
  type OperatorRoute,
  readQuery,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
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
          calls.map(({ entry, reason, since }) => {
            const { posting } = entry;
            const { callId, accountId } = posting ?? entry.call;
            return {
              call_id: callId,
              account_id: accountId === "" ? null : accountId,
              at: posting ? new Date(posting.at).toISOString() : null,
              model: posting?.model ?? null,
              cost_vnd: formatVnd(entry.chargedMicroVnd),
              reason,
              since: since.toISOString(),
            };
          }),
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
          if (error instanceof EntryUnreadable) {
            return refuse.conflict(`The entry is still unreadable: ${error.message}.`, {
              code: "unreadable",
              param: "call",
            });
          }
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
