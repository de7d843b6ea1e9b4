import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { connect } from "../database/client.ts";
import type { Database } from "../database/database.ts";
import { EmbeddedDatabase } from "../database/embedded.ts";
import type { PluginDatabase } from "../database/plugin-database.ts";
import { type DatabaseServer, remoteServer } from "../database/server.ts";
import { EmbeddedRateLimiter } from "../limits/embedded.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import { EmbeddedHoldStore } from "../money/embedded/store.ts";
import type { HoldStore } from "../money/hold-store.ts";
import {
  BalancesLock,
  connectionName,
  refuseOwnedBalances,
} from "../money/ledger/balances-lock.ts";
import { PostgresLedger } from "../money/ledger/postgres.ts";
import { faultsOfPostgres } from "../money/ledger/settings.ts";
import type { Ledger } from "../money/ledger.ts";
import { LIFETIMES } from "../money/lifetimes.ts";
import type { Config } from "../plugin/config.ts";
import type { Clock } from "../process/clock.ts";
import { isId } from "../process/id.ts";
import type { Log } from "../process/log.ts";
import { type SecretKind, secretFile } from "../process/secret-file.ts";
import type { RedisCommands } from "../redis/client.ts";
import { timeOfRedis } from "../redis/clock.ts";
import { faultsOfRedis } from "../redis/settings.ts";
import type { ClockReader } from "./clocks.ts";
import type { ReadFaults } from "./store-settings.ts";

/** Maximum number of posted calls that wait for the ledger: about 260 MB at 1.3 KB each. */
export const OUTBOX_ENTRIES_MAX = 200_000;
/** Of `stores.connections`; the rest is for pages. Calls are committed in one batch at a time, beside movements. */
const CONNECTIONS = { commits: 2, loads: 2 };
const JOURNAL_BYTES_MAX = 1024 * 1024 * 1024;

export interface Stores {
  readonly holdStore: HoldStore;
  readonly rateLimiter: RateLimiter;
  readonly ledger: Ledger;
  /** The ledger's database, for plugins. */
  readonly database: PluginDatabase;
  /** The same, by connections for what new calls load, which no plugin uses. */
  readonly loads: Database;
  /** Started after the hold store, and stopped after it. */
  readonly balancesLock: Pick<BalancesLock, "start" | "stop">;
  /** The clocks of stores on other computers. */
  readonly clockReaders: readonly ClockReader[];
  /** Settings of Redis and Postgres that money rests on. */
  readonly faultReaders: readonly ReadFaults[];
}

/**
 * Prefix of the keys in Redis. Never change it: every wallet and every outbox would be left behind.
 */
const REDIS_PREFIX = "tollgate";
const SPOOL_BYTES_MAX = 256 * 1024 * 1024;

/** Creates the stores that a config names. Does not start them. */
export async function createStores(config: Config, clock: Clock, log: Log): Promise<Stores> {
  const { data, hot } = config.stores;
  const session = randomUUID();
  const server = databaseServer(config, session, log);
  const ledger = new PostgresLedger({ server, clock, log });
  const { database, loads } = ledger;
  const clockReaders: ClockReader[] = [];
  const faultReaders: ReadFaults[] = [];
  if (config.stores.ledger !== "embedded") {
    clockReaders.push({ name: "Postgres", read: () => ledger.now() });
    faultReaders.push(() => faultsOfPostgres(loads));
  }
  if (hot !== "embedded") {
    const { holdStore, rateLimiter, client } = await createRedis(hot, data, ledger, log);
    clockReaders.push({ name: "Redis", read: () => timeOfRedis(client, REDIS_PREFIX, clock) });
    faultReaders.push(() => faultsOfRedis(client, REDIS_PREFIX));
    const balancesLock = { start: () => refuseOwnedBalances(database), async stop() {} };
    const readers = { clockReaders, faultReaders };
    return { holdStore, rateLimiter, ledger, database, loads, balancesLock, ...readers };
  }
  const rateLimiter = new EmbeddedRateLimiter(clock);
  const own = { rateLimiter, ledger, database, loads, clockReaders, faultReaders };
  if (config.stores.ledger === "embedded") {
    return { ...own, holdStore: embedded(data, ledger, log), balancesLock: UNSHARED };
  }
  const lock: BalancesLock = new BalancesLock({
    database: loads,
    session,
    path: resolve(data),
    folder: await secretFile(join(data, "balances-id"), FOLDER_ID),
    forgetWallets: () => holdStore.forgetWallets(),
    log,
  });
  const holdStore = embedded(data, ledger, log, () => lock.refusal());
  return { ...own, holdStore, balancesLock: lock };
}

/** An embedded ledger is in the data folder, which one process locks. */
const UNSHARED = { async start() {}, async stop() {} };

const FOLDER_ID: SecretKind = {
  create: randomUUID,
  isUsable: isId,
  advice: "restore it: without it, this folder cannot take over its own balances",
};

function embedded(
  data: string,
  ledger: Ledger,
  log: Log,
  refusal?: () => string | undefined,
): EmbeddedHoldStore {
  return new EmbeddedHoldStore({
    journal: { folder: join(data, "journal"), bytesMax: JOURNAL_BYTES_MAX, sync: false, log },
    outboxEntriesMax: OUTBOX_ENTRIES_MAX,
    history: ledger.history,
    ...(refusal && { refusal }),
  });
}

/** Loads the Redis client only if the config uses Redis: it takes 20 MB. */
async function createRedis(
  servers: string | readonly string[],
  data: string,
  ledger: Ledger,
  log: Log,
): Promise<Pick<Stores, "holdStore" | "rateLimiter"> & { client: RedisCommands }> {
  const [{ RedisClient }, { RedisRateLimiter }, { RedisHoldStore }] = await Promise.all([
    import("../redis/client.ts"),
    import("../limits/redis.ts"),
    import("../money/redis/store.ts"),
  ]);
  const client = new RedisClient(servers, LIFETIMES.replyTimeoutMs);
  const holdStore = new RedisHoldStore({
    client,
    prefix: REDIS_PREFIX,
    spool: { folder: join(data, "spool"), bytesMax: SPOOL_BYTES_MAX, log },
    outboxEntriesMax: OUTBOX_ENTRIES_MAX,
    ledger,
    log,
  });
  return { holdStore, rateLimiter: new RedisRateLimiter(client, REDIS_PREFIX), client };
}

function databaseServer({ stores }: Config, session: string, log: Log): DatabaseServer {
  if (stores.ledger === "embedded") {
    const { statementTimeoutMs } = LIFETIMES;
    return new EmbeddedDatabase({ folder: join(stores.data, "ledger"), statementTimeoutMs, log });
  }
  const open = (connectionsMax: number) =>
    connect({
      server: { url: stores.ledger },
      connectionsMax,
      ...(stores.hot === "embedded" && { name: connectionName(session) }),
      statementTimeoutMs: LIFETIMES.statementTimeoutMs,
      log,
    });
  const { commits, loads } = CONNECTIONS;
  return remoteServer(open(stores.connections - commits - loads), open(commits), open(loads));
}
