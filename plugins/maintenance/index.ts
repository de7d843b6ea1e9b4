import {
  addOperatorRoutes,
  PeriodicTask,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  ThrottledLog,
  text,
  v,
  whole,
} from "../../core/contract/index.ts";
import { commands } from "./commands.ts";
import { maintenanceRoutes } from "./routes.ts";
import { KnownMaintenance, type Maintenance } from "./state.ts";

/** Another process may have switched it. */
const LOOK_MS = 1_000;
const MESSAGE_DEFAULT = "The service is under maintenance; try again later.";

export const options = v.strictObject({
  /** How long clients are told to wait. */
  retry_after_seconds: v.optional(whole(1, 86_400), 30),
  /** What they are told where the operator gives no message. */
  message: v.optional(text(), MESSAGE_DEFAULT),
});

/** Refuses calls with a 503 while an operator says so; calls that run already finish. */
export default function maintenance(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const { database, log, config } = services;
  const retryAfter = ["retry-after", String(settings.retry_after_seconds)];
  let refusal: Refusal | undefined;
  const throttledLog = new ThrottledLog(log);

  function apply({ enabled, message }: Maintenance): void {
    const told = message ?? settings.message;
    if (enabled !== (refusal !== undefined)) log.info({ enabled }, "maintenance");
    refusal = enabled
      ? refuse.unavailable(told, { code: "maintenance", headers: retryAfter })
      : undefined;
  }

  const known = new KnownMaintenance(database, apply);
  const task = new PeriodicTask(async () => {
    try {
      await known.refresh();
    } catch (error) {
      // Whatever was so stays so while the ledger is away: neither outage nor recovery is the operator's word.
      throttledLog.warn({ err: error }, "cannot read the maintenance state; it stays as it is");
    }
    return LOOK_MS;
  });

  return {
    name: "maintenance",
    // The code runs from dist, the SQL is read from the sources.
    migrations: new URL("../../../plugins/maintenance/migrations/", import.meta.url),

    commands,

    async start() {
      await known.refresh();
      // An embedded ledger belongs to this process, which hears of every change itself.
      if (config.stores.ledger !== "embedded") task.start();
    },

    admit: () => refusal,

    routes(router) {
      const routes = maintenanceRoutes(database, (now) => known.switched(now));
      addOperatorRoutes(router, services, "/admin/v1", routes);
    },

    stop: () => task.stop(),
  };
}
