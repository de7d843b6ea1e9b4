import {
  addOperatorRoutes,
  PeriodicTask,
  type Plugin,
  type Services,
  ThrottledLog,
} from "../../core/plugin/index.ts";
import { commands } from "./commands.ts";
import { switchRoutes } from "./routes.ts";

/** Each process polls the switches, since another process may have changed them. */
const POLL_MS = 500;

interface Switch {
  readonly upstream: string;
  readonly model: string;
  readonly key: string;
}

/** Switches upstreams, their models and keys off and on by commands, at every gateway, and tries one by a real call. */
export default function switches(services: Services): Plugin {
  const { database, log, config } = services;
  const throttledLog = new ThrottledLog(log);
  let last: readonly Switch[] = [];

  async function refresh(): Promise<void> {
    const list = await database.query<Switch>(
      "select upstream, model, key from switched_off order by upstream, model, key",
    );
    const isNew = JSON.stringify(list) !== JSON.stringify(last);
    last = list;
    services.upstreams.switchOff(list);
    if (isNew) log.info({ switched_off: list }, "upstreams were switched");
  }

  const task = new PeriodicTask(async () => {
    try {
      await refresh();
    } catch (error) {
      // Only an operator switches upstreams, so an outage of the ledger does not change them.
      throttledLog.warn(
        { err: error },
        "cannot read which upstreams are off; keeping the last state",
      );
    }
    return POLL_MS;
  });

  return {
    name: "switches",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/switches/migrations/", import.meta.url),
    commands,

    async start() {
      await refresh();
      // Only this process uses an embedded ledger, so no other process can change the switches.
      if (config.stores.ledger !== "embedded") task.start();
    },

    routes(router) {
      // A reload has made new upstreams, which are all on.
      services.upstreams.switchOff(last);
      addOperatorRoutes(router, services, "/admin/v1", switchRoutes(services, refresh));
    },

    stop: () => task.stop(),
  };
}
