import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import type { GatewayConfig } from "../config/load.ts";
import { connect } from "../database/client.ts";
import { EmbeddedDatabase } from "../database/embedded.ts";
import { type DatabaseServer, remoteServer } from "../database/server.ts";
import { EmbeddedRateLimiter } from "../limits/embedded.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import { Backlog } from "../money/backlog.ts";
import { Committer } from "../money/committer.ts";
import { createEmbeddedHoldStore, type EmbeddedHoldStore } from "../money/embedded/store.ts";
import type { HoldStore, HoldStoreHealth } from "../money/hold-store.ts";
import {
  BalancesLock,
  connectionName,
  refuseOwnedBalances,
} from "../money/ledger/balances-lock.ts";
import { createPostgresLedger, type PostgresLedger } from "../money/ledger/postgres.ts";
import { faultsOfPostgres } from "../money/ledger/settings.ts";
import type { Ledger } from "../money/ledger.ts";
import { LIFETIMES } from "../money/lifetimes.ts";
import { stopMoney } from "../money/stop.ts";
import { createStoredWallets, type StoredWallets } from "../money/stored-wallets.ts";
import type { Config } from "../plugin/config.ts";
import { announced } from "../process/announced.ts";
import type { Clock } from "../process/clock.ts";
import { isId } from "../process/id.ts";
import type { LineLog, Log } from "../process/log.ts";
import { type SecretKind, secretFile } from "../process/secret-file.ts";
import type { RedisCommands } from "../redis/client.ts";
import { faultsOfRedis } from "../redis/settings.ts";
import { checkOwnClock, LedgerClock } from "./ledger-clock.ts";
import { type ReadFaults, StoreSettings } from "./store-settings.ts";

/** Batches for the best rate of the ledger; a pause that makes them worth a transaction under light load. */
const COMMITTER = { batchEntries: 1000, lingerMs: 250 };

/** The stores, and what moves money between them, in the order in which they start and stop. */
export class Money {
  readonly backlog: Backlog;
  readonly committer: Committer;
  readonly wallets: StoredWallets;
  readonly storeSettings: StoreSettings;

  private constructor(
    readonly stores: Stores,
    private readonly log: LineLog,
  ) {
    const { holdStore, ledger, faultReaders } = stores;
    this.backlog = new Backlog({ holdStore, entriesMax: OUTBOX_ENTRIES_MAX });
    this.committer = new Committer({ holdStore, ledger, log, backlog: this.backlog, ...COMMITTER });
    this.wallets = createStoredWallets({ holdStore, ledger });
    this.storeSettings = new StoreSettings(faultReaders, log);
  }

  /** Opens the stores that a config names, and starts all. If a part cannot start, stops those before it. */
  static async start(config: GatewayConfig, clock: Clock, log: LineLog): Promise<Money> {
    checkOwnClock(clock.now());
    const money = new Money(await createStores(config, clock, log), log);
    await money.start();
    return money;
  }

  async stop(): Promise<void> {
    const { wallets, committer, log } = this;
    const { holdStore, balancesLock, ledger } = this.stores;
    await this.storeSettings.stop();
    try {
      await stopMoney({ wallets, committer, holdStore, log });
      await balancesLock.stop(holdStore.uncommittedCalls() === 0);
    } finally {
      await ledger.stop();
    }
  }

  private async start(): Promise<void> {
    const { log, stores, committer } = this;
    const { ledger } = stores;
    await announced(log, "the ledger", ledger.start());
    let hasHolds = false;
    const steps: Readonly<Record<Step, () => Promise<void>>> = {
      holds: async () => {
        const { holdStore } = stores;
        const reason = () => reasonOf(holdStore.health());
        await announced(log, "the hold store", holdStore.start(), reason);
        hasHolds = true;
        await announced(log, "the settings of the stores", this.storeSettings.start());
      },
      balances: () => announced(log, "the balances of the ledger", stores.balancesLock.start()),
      commits: async () => committer.start(),
    };
    try {
      for (const step of stores.order) await steps[step]();
      const missed = this.wallets.start();
      await announced(log, "movements that the hold store has not applied", missed);
    } catch (error) {
      // A hold store that did not start has stopped itself, and gives the committer no call any more.
      if (hasHolds) await this.stop();
      else await committer.stop(0).finally(() => ledger.stop());
      throw error;
    }
  }
}

function reasonOf(health: HoldStoreHealth): string | undefined {
  return health.kind === "ok" ? undefined : health.reason;
}

/** Maximum number of posted calls that wait for the ledger: about 260 MB at 1.3 KB each. */
const OUTBOX_ENTRIES_MAX = 200_000;
/** Of `stores.connections`; the rest is for pages. Calls are committed in one batch at a time, beside movements. */
const CONNECTIONS = { commits: 2, loads: 2 };
const JOURNAL_BYTES_MAX = 1024 * 1024 * 1024;

type Step = "holds" | "balances" | "commits";

/** The hold store locks the data folder whose balances are taken. Only a gateway that has them may commit its journal. */
const ORDER_IN_MEMORY: readonly Step[] = ["holds", "balances", "commits"];
/**
 * The hold store is ready only once the posts of dead gateways are committed: if all gateways are starting, no other process
 * commits them.
 */
const ORDER_IN_REDIS: readonly Step[] = ["balances", "commits", "holds"];

interface Stores extends Pick<PostgresLedger, "database" | "loads"> {
  readonly holdStore: HoldStore;
  readonly rateLimiter: RateLimiter;
  readonly ledger: Ledger;
  /** The order in which they start. */
  readonly order: readonly Step[];
  /** Stopped after the hold store. */
  readonly balancesLock: Pick<BalancesLock, "start" | "stop">;
  /** Undefined if the ledger is in this process. */
  readonly ledgerClock: LedgerClock | undefined;
  /** Of the settings of Redis and Postgres that money rests on, and of the clock of Postgres. */
  readonly faultReaders: readonly ReadFaults[];
}

/** Prefix of the keys in Redis. Never change it: every wallet and every outbox would be left behind. */
const REDIS_PREFIX = "tollgate";
const SPOOL_BYTES_MAX = 256 * 1024 * 1024;

async function createStores(config: Config, clock: Clock, log: Log): Promise<Stores> {
  const { data, hot } = config.stores;
  const session = randomUUID();
  const server = databaseServer(config, session, log);
  const ledger = createPostgresLedger({ server, clock, log });
  const { database, loads } = ledger;
  const ledgerClock =
    config.stores.ledger === "embedded"
      ? undefined
      : new LedgerClock(clock, () => ledger.now(), config.limits.clockDifferenceMs);
  const faultReaders: ReadFaults[] = ledgerClock
    ? [() => faultsOfPostgres(loads), () => ledgerClock.faults()]
    : [];
  const shared = { ledger, database, loads, ledgerClock, faultReaders };
  if (hot !== "embedded") {
    const { holdStore, rateLimiter, client } = await createRedis(hot, data, ledger, log);
    faultReaders.push(() => faultsOfRedis(client, REDIS_PREFIX));
    const balancesLock = { start: () => refuseOwnedBalances(database), async stop() {} };
    return { ...shared, order: ORDER_IN_REDIS, holdStore, rateLimiter, balancesLock };
  }
  const rateLimiter = new EmbeddedRateLimiter(clock);
  const own = { ...shared, order: ORDER_IN_MEMORY, rateLimiter };
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
  return createEmbeddedHoldStore({
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
  const [{ RedisClient }, { RedisRateLimiter }, { createRedisHoldStore }] = await Promise.all([
    import("../redis/client.ts"),
    import("../limits/redis.ts"),
    import("../money/redis/store.ts"),
  ]);
  const client = new RedisClient(servers, LIFETIMES.replyTimeoutMs);
  const holdStore = createRedisHoldStore({
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
  const open = (connectionsMax: number, statementTimeoutMs: number) =>
    connect({
      server: { url: stores.ledger },
      connectionsMax,
      ...(stores.hot === "embedded" && { name: connectionName(session) }),
      statementTimeoutMs,
      log,
    });
  const { commits, loads } = CONNECTIONS;
  const { loadTimeoutMs, statementTimeoutMs } = LIFETIMES;
  return remoteServer(
    open(stores.connections - commits - loads, statementTimeoutMs),
    open(commits, statementTimeoutMs),
    // A load that takes longer helps no call, and a server that vanished would hold up those behind it.
    open(loads, loadTimeoutMs),
  );
}
