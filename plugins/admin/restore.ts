import {
  done,
  type OperatorRoute,
  reading,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";

const confirmation = v.strictObject({ confirmed: v.literal(true, "expected true") });

/** The route that loads every wallet from the ledger again, after the ledger was restored from a backup. */
export function restoreRoutes({ operations }: Services): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: "/restore",
      right: "owner",
      handle: reading(confirmation, async () => {
        const result = await operations.current.restoreFromLedger();
        if (result.kind === "restored") return done({ status: "restored" });
        return refuse.conflict(
          `${result.reason}. Nothing has changed; try again when they are over.`,
          {
            code: "calls_running",
          },
        );
      }),
    },
  ];
}
