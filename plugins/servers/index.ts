import { hostname } from "node:os";
import {
  addOperatorRoutes,
  type Command,
  done,
  line,
  mapping,
  newId,
  oneOf,
  PeriodicTask,
  type Plugin,
  program,
  reading,
  refuse,
  type Services,
  ThrottledLog,
  v,
} from "../../core/plugin/index.ts";
import { forgetBackups, lastBackup, readBackups } from "./backups.ts";
import { installation } from "./handbook.ts";
import { type KnownServer, leaveServers, meetServers, readServers } from "./known-servers.ts";
import { secretsJson } from "./secrets.ts";
import { systemJson } from "./system.ts";
import { problemOf, upgradeJson } from "./upgrade.ts";

/** Each process writes what it serves by, and reads what the others do. */
const MEET_MS = 60_000;
/** The script of the handbook makes one each hour. The alerts have the same bound. */
const BACKUP_SECONDS_MAX = 3 * 3_600;

export const provides = ["gauges"];
export const reads = ["catalogue", "version"];

const LANGUAGE = {
  name: "language",
  value: "LANGUAGE",
  about: "en (the default) or vi",
  example: "vi",
};
const language = v.optional(oneOf(["en", "vi"]), "en");
const upgradeQuery = mapping({ language });
const secretsQuery = mapping({ language, secret: v.optional(line(200, "the name of a secret")) });

const commands: readonly Command[] = [
  {
    path: "/admin/v1/servers",
    words: "servers",
    about: "list the gateways that share the ledger, and how they differ",
    method: "GET",
  },
  {
    path: "/admin/v1/backups",
    words: "backups",
    about: "show when the ledger was last backed up and read again, and the backups before",
    method: "GET",
  },
  {
    path: "/admin/v1/system",
    words: "system",
    about: "show this process, its disk, clocks, stores, gauges, and config without its secrets",
    method: "GET",
  },
  {
    path: "/admin/v1/secrets",
    words: "secrets",
    about:
      "list the secrets by name, with their ages, what uses each, and how to change it; never a value; --secret shows one whole",
    method: "GET",
    options: [{ name: "secret", value: "NAME", example: "admin.token" }, LANGUAGE],
  },
  {
    path: "/admin/v1/upgrade",
    words: "upgrade",
    about:
      "say if each process would start again on the database; with the commands for an upgrade and for the way back, and how far " +
      "back that can be",
    method: "GET",
    options: [LANGUAGE],
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
  let backedUp: Date | undefined;

  async function meet(): Promise<void> {
    if (services.status.isStopping) {
      // It serves no new call by what it differs in, and in an upgrade it may drain for longer than others may differ.
      late = 0;
      return leaveServers(database, id);
    }
    const { catalogue, version } = config;
    const place = { id, host: hostname(), address: `${listens}:${port}` };
    const schemaProblem = problemOf(await services.status.schema()) ?? null;
    const own = { ...place, build: program.version, schemaProblem };
    const known = await meetServers(database, {
      ...own,
      catalogue: catalogue.version,
      config: version,
    });
    const others = known.filter(({ isLate }) => isLate);
    late = others.length;
    backedUp = await lastBackup(database, config.stores.ledger === "embedded");
    await forgetBackups(database);
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
      services.gauges.provide({
        name: "tollgate_backup_age_seconds",
        help: "Age of the newest recorded backup of the ledger; if none was recorded, of the ledger, unless it is embedded.",
        value: () => backedUp && Math.max(0, (clock.now() - backedUp.getTime()) / 1_000),
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
        {
          method: "GET",
          path: "/backups",
          async handle() {
            const found = await readBackups(database);
            return done(
              found.map(({ at, bytes }) => {
                const seconds = Math.max(0, Math.round((clock.now() - at.getTime()) / 1_000));
                const isOld = seconds > BACKUP_SECONDS_MAX;
                return { at: at.toISOString(), age_seconds: seconds, is_old: isOld, bytes };
              }),
            );
          },
        },
        { method: "GET", path: "/system", handle: async () => done(await systemJson(services)) },
        {
          method: "GET",
          path: "/secrets",
          handle: reading(secretsQuery, async (wanted) => {
            const all = await secretsJson(services, wanted.language, await installation());
            if (wanted.secret === undefined) return done(all);
            const one = all.find(({ secret }) => secret === wanted.secret);
            if (one) return done(one);
            return refuse.notFound("No secret has this name. `secrets` lists them.", "secret");
          }),
        },
        {
          method: "GET",
          path: "/upgrade",
          handle: reading(upgradeQuery, async (wanted) => {
            const [schema, known] = [
              await services.status.schema(),
              await readServers(database, id),
            ];
            return done(await upgradeJson(schema, known, wanted.language));
          }),
        },
      ]);
    },

    async stop() {
      await task.stop();
      // The others also see that it is silent.
      await leaveServers(database, id).catch(() => undefined);
    },
  };
}

function answerOf(known: KnownServer): object {
  const { isOwn, isLate, since, seenAt, differs, schemaProblem, ...server } = known;
  return {
    ...server,
    schema_problem: schemaProblem,
    since: since.toISOString(),
    seen_at: seenAt.toISOString(),
    is_asked: isOwn,
    differs: [...differs],
    is_late: isLate,
  };
}
