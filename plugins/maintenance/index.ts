import {
  addOperatorRoutes,
  addPublicRoutes,
  done,
  PeriodicTask,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  ThrottledLog,
  text,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { commands } from "./commands.ts";
import { maintenanceRoutes } from "./routes.ts";
import { KnownMaintenance, type Maintenance } from "./state.ts";

/** Each process polls the state, since another process may have changed it. */
const POLL_MS = 1_000;
const MESSAGE_DEFAULT = "The service is under maintenance; try again later.";

export const options = v.strictObject({
  /** Sent to clients in `retry-after`. */
  retry_after_seconds: v.optional(whole(1, 86_400), 30),
  /** Sent to clients if the operator gives no message. */
  message: v.optional(text(), MESSAGE_DEFAULT),
});

/** Refuses calls with 503 while maintenance is on. Calls in flight finish. */
export default function maintenance(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const { database, log, config } = services;
  const retryAfter = ["retry-after", String(settings.retry_after_seconds)];
  let refusal: Refusal | undefined;
  let shownToCustomers: Pick<Maintenance, "enabled" | "message"> = {
    enabled: false,
    message: null,
  };
  const throttledLog = new ThrottledLog(log);

  function apply({ enabled, message }: Maintenance): void {
    if (enabled !== (refusal !== undefined)) log.info({ enabled }, "maintenance switched");
    shownToCustomers = { enabled, message };
    const shown = message ?? settings.message;
    refusal = enabled
      ? refuse.unavailable(shown, { code: "maintenance", headers: retryAfter })
      : undefined;
  }

  const known = new KnownMaintenance(database, apply);
  const task = new PeriodicTask(async () => {
    try {
      await known.refresh();
    } catch (error) {
      // Only an operator switches maintenance, so an outage of the ledger does not change it.
      throttledLog.warn({ err: error }, "cannot read the maintenance state; keeping the last one");
    }
    return POLL_MS;
  });

  return {
    name: "maintenance",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/maintenance/migrations/", import.meta.url),

    commands,

    async start() {
      await known.refresh();
      // Only this process uses an embedded ledger, so no other process can switch maintenance.
      if (config.stores.ledger !== "embedded") task.start();
    },

    admit: () => refusal,

    routes(router) {
      const routes = maintenanceRoutes(database, (now) => known.switched(now));
      addOperatorRoutes(router, services, "/admin/v1", routes);
      // For the pages of customers, who may open them without making a call.
      addPublicRoutes(router, services, "/account/v1", [
        { method: "GET", path: "/maintenance", handle: async () => done(shownToCustomers) },
      ]);
    },

    stop: () => task.stop(),
  };
}
