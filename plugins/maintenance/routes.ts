import {
  done,
  line,
  mapping,
  type OperatorRoute,
  reading,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { type Maintenance, readMaintenance, writeMaintenance } from "./state.ts";

const MESSAGE = "a message of 1 to 500 characters on one line";
const REASON = "a reason of 1 to 500 characters on one line";

const wanted = mapping({
  enabled: v.boolean("true or false"),
  message: v.optional(v.nullable(line(500, MESSAGE))),
  reason: v.optional(v.nullable(line(500, REASON))),
});

/** Routes that show and switch maintenance. Calls `changed` after each switch by this process. */
export function maintenanceRoutes(
  database: Services["database"],
  changed: (now: Maintenance) => void,
): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/maintenance",
      handle: async () => done(answerOf(await readMaintenance(database))),
    },
    {
      method: "POST",
      path: "/maintenance",
      right: "operations",
      handle: reading(wanted, async ({ enabled, message = null }) => {
        const now = await writeMaintenance(database, {
          enabled,
          message: enabled ? message : null,
        });
        changed(now);
        return done(answerOf(now));
      }),
    },
  ];
}

function answerOf({ enabled, message, since }: Maintenance): object {
  return { enabled, message, since: since.toISOString() };
}
