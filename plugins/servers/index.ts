import { hostname } from "node:os";
import {
  addOperatorRoutes,
  type Command,
  done,
  newId,
  PeriodicTask,
  type Plugin,
  packageVersion,
  type Services,
  ThrottledLog,
} from "../../core/plugin/index.ts";
import { type KnownServer, leaveServers, meetServers, readServers } from "./known-servers.ts";
import { systemJson } from "./system.ts";

/** Each process writes what it serves by, and reads what the others do. */
const MEET_MS = 60_000;

export const provides = ["gauges"];
export const reads = ["catalogue", "version"];

const commands: readonly Command[] = [
  {
    path: "/admin/v1/servers",
    words: "servers",
    about: "list the gateways that share the ledger, and how they differ",
    method: "GET",
  },
  {
    path: "/admin/v1/system",
    words: "system",
    about: "show this process, its disk, clocks, stores, gauges, secrets by age, and config",
    method: "GET",
  },
];

/**
 * Warns if processes that share a ledger serve by another build, catalogue or config for longer than a rolling upgrade
 * takes: two servers would charge one customer by two prices.
 */
export default function servers(services: Services): Plugin {
  const { database, log, config, clock } = services;
  const throttledLog = new ThrottledLog(log);
  const id = newId(clock.now());
  const { host: listens, port } = config.listen;
  let late: number | undefined;

  async function meet(): Promise<void> {
    const { catalogue, version } = config;
    const own = { id, host: hostname(), address: `${listens}:${port}`, build: packageVersion() };
    const known = await meetServers(database, {
      ...own,
      catalogue: catalogue.version,
      config: version,
    });
    const others = known.filter(({ isLate }) => isLate);
    late = others.length;
    for (const other of others) {
      const { host, address: at, differs } = other;
      throttledLog.warn(
        { host, address: at, differs },
        "another server with this ledger serves by another version; bring both to the same one",
      );
    }
  }

  const task = new PeriodicTask(async () => {
    await meet().catch((error: unknown) =>
      throttledLog.warn({ err: error }, "cannot compare this server with the others"),
    );
    return MEET_MS;
  });

  return {
    name: "servers",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/servers/migrations/", import.meta.url),
    commands,

    async start() {
      services.gauges.provide({
        name: "tollgate_servers_that_differ",
        help: "Other processes with this ledger that serve by another build, catalogue or config for over five minutes.",
        value: () => late,
      });
      task.start();
    },

    routes(router) {
      addOperatorRoutes(router, services, "/admin/v1", [
        {
          method: "GET",
          path: "/servers",
          handle: async () => done((await readServers(database, id)).map(answerOf)),
        },
        { method: "GET", path: "/system", handle: async () => done(await systemJson(services)) },
      ]);
    },

    async stop() {
      await task.stop();
      // The others also see that it is silent.
      await leaveServers(database, id).catch(() => undefined);
    },
  };
}

function answerOf({ isOwn, isLate, since, seenAt, differs, ...server }: KnownServer): object {
  return {
    ...server,
    since: since.toISOString(),
    seen_at: seenAt.toISOString(),
    is_asked: isOwn,
    differs: [...differs],
    is_late: isLate,
  };
}
