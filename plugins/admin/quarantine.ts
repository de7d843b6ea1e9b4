import {
  done,
  formatVnd,
  type OperatorRoute,
  reading,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { quarantinePage } from "./input.ts";

/** Routes to list calls that the ledger refused to commit, and to commit one after its cause is fixed. */
export function quarantineRoutes({ operations }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/quarantine",
      handle: reading(quarantinePage, async (page) => {
        const calls = await operations.current.quarantineList(page.limit);
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
      }),
    },
    {
      method: "POST",
      path: "/quarantine/:call/retry",
      right: "operations",
      async subject({ call = "" }) {
        return { account_id: (await operations.current.call(call))?.record.accountId };
      },
      async handle({ params }) {
        const callId = params["call"] ?? "";
        const result = await operations.current.commitQuarantined(callId);
        switch (result.kind) {
          case "committed":
            return done({ call_id: callId, status: "settled" });
          case "no_call":
            return refuse.notFound("There is no such call in quarantine.", "call");
          case "unreadable":
            return refuse.conflict(`The entry is still unreadable: ${result.reason}.`, {
              code: "unreadable",
              param: "call",
            });
          case "refused":
            return refuse.conflict(`The ledger still refuses this call: ${result.reason}`, {
              code: "still_refused",
              param: "call",
            });
        }
      },
    },
  ];
}
