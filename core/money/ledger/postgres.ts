import { type Sql, sqlState } from "../../database/client.ts";
import { databaseOf, migrate, type PluginDatabase } from "../../database/migrate.ts";
import type { DatabaseServer } from "../../database/server.ts";
import type { Clock } from "../../process/clock.ts";
import { isId } from "../../process/id.ts";
import type { Log } from "../../process/log.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { EntryUnreadable, type Ledger } from "../ledger.ts";
import { isReadable } from "../outbox-entry.ts";
import { createCommit } from "./commit.ts";
import {
  completeThrough,
  credit,
  credited,
  movedWallets,
  newerWallets,
  now,
  WalletReads,
} from "./credit.ts";
import { PostgresEpochs } from "./epochs.ts";
import { PostgresHistory } from "./history.ts";
import { LedgerProof } from "./proof.ts";
import { purseSum, purseSums, readPurse } from "./purses.ts";
import { quarantine, quarantined, quarantinedCall, quarantineList } from "./quarantine.ts";
import { sum, sums, unknown } from "./sums.ts";
import { topUps } from "./top-ups.ts";
import { callById, hasCall, makeUsagePartitions, searchCalls, usage } from "./usage.ts";

const HOUR_MS = 3_600_000;
/** SQLSTATE of a statement that did not get its lock in time. */
const LOCK_TIMEOUT = "55P03";
const MONTHS_AHEAD = 2;

interface PostgresLedgerOptions {
  /** The ledger starts and stops it. */
  readonly server: DatabaseServer;
  readonly clock: Clock;
  readonly log: Log;
}

/** Parts of the ledger in Postgres that the gateway uses beside its books. */
interface OfPostgres {
  /** The database for plugins with their own tables; usable once the ledger has started. */
  readonly database: PluginDatabase;
  /** Its connections for what new calls load, which no plugin uses: see `DatabaseServer`. */
  readonly loads: Sql;
  /** Returns the time by the clock of Postgres, in milliseconds since the Unix epoch. */
  now(): Promise<number>;
}

/** The ledger in Postgres. The operations are in the files beside this one. */
export function createPostgresLedger({ server, clock, log }: PostgresLedgerOptions) {
  const { sql, commits, loads } = server;
  const history = new PostgresHistory(commits);
  const commit = createCommit(commits, history);
  const proof = new LedgerProof(sql);
  const walletReads = new WalletReads(loads);
  let timer: NodeJS.Timeout | undefined;

  async function start(): Promise<void> {
    await server.start();
    try {
      await prepare();
    } catch (error) {
      // Else an embedded server keeps the process alive.
      await server.stop();
      throw error;
    }
    timer = setInterval(makePartitionsSoon, HOUR_MS);
    timer.unref();
  }

  async function prepare(): Promise<void> {
    const applied = await migrate(sql);
    if (applied.length > 0) log.info({ applied }, "migrated the ledger");
    // Like a migration, it may take long on a slow disk: nothing is served yet, and the start logs that it waits. A long read
    // of movements, such as a backup, holds up new months. They are made again later.
    await makePartitions({ isLong: true }).catch((error: unknown) => {
      if (sqlState(error) !== LOCK_TIMEOUT) throw error;
      log.warn({ err: error }, "cannot make partitions ahead yet; trying again in an hour");
    });
  }

  async function stop(): Promise<void> {
    clearInterval(timer);
    timer = undefined;
    await server.stop();
  }

  async function ping(timeoutMs: number): Promise<void> {
    if ((await withTimeout(commits.query("select 1"), timeoutMs)) !== TIMED_OUT) return;
    throw new Error(`the ledger did not reply within ${timeoutMs} ms`);
  }

  async function commitQuarantined(callId: string): Promise<boolean> {
    const call = await quarantinedCall(sql, callId);
    if (call === undefined) return false;
    const { entry } = call;
    if (!isReadable(entry)) throw new EntryUnreadable(entry.reason);
    await commit.quarantined(entry);
    return true;
  }

  async function* sumsOf() {
    const prove = async () => {
      while (!(await proof.advance()).isDone);
    };
    await prove();
    yield* sums(sql, { prove });
    yield* purseSums(sql);
  }

  function makePartitions(how = { isLong: false }): Promise<void> {
    return makeUsagePartitions(sql, new Date(clock.now()), MONTHS_AHEAD, how);
  }

  function makePartitionsSoon(): void {
    makePartitions().catch((error: unknown) => {
      log.error({ err: error }, "cannot make partitions ahead; commits make their own");
    });
  }

  return {
    history,
    epochs: new PostgresEpochs(loads),
    database: databaseOf(sql),
    loads,
    start,
    stop,
    ping,
    commit: (entries) => commit.all(entries),
    quarantine: (entry, reason) => quarantine(history, entry, reason),
    quarantined: () => quarantined(commits),
    quarantineList: (limit) => quarantineList(sql, limit),
    quarantinedCall: (callId) => quarantinedCall(sql, callId),
    commitQuarantined,
    hasCall: (call) => hasCall(loads, call),
    credit: async (movement) =>
      isId(movement.accountId) ? credit(commits, history, movement) : { kind: "no_account" },
    now: () => now(commits),
    completeThrough: () => completeThrough(sql),
    credited: async (movement) =>
      isId(movement.accountId) ? credited(commits, movement) : { kind: "no_account" },
    topUps: async (query) =>
      isId(query.accountId) ? topUps(loads, query) : { totalMicroVnd: 0n, periodMicroVnd: 0n },
    wallet: (accountId) => walletReads.read(accountId),
    purse: async (accountId, name) =>
      isId(accountId) ? readPurse(loads, accountId, name) : undefined,
    newerWallets: (loaded) => newerWallets(loads, loaded),
    movedWallets: (sinceMs) => movedWallets(sql, sinceMs),
    usage: async (query) => (isId(query.accountId) ? usage(sql, query) : []),
    async searchCalls(search) {
      const { accountId, keyId } = search;
      const isKnown = [accountId, keyId].every((id) => id === undefined || isId(id));
      return isKnown ? searchCalls(sql, search) : { records: [], next: undefined };
    },
    call: async (callId) => (isId(callId) ? callById(sql, callId) : undefined),
    async prove({ isRestart = false } = {}) {
      if (isRestart) await proof.restart();
      return proof.advance();
    },
    sums: sumsOf,
    async sum(accountId, purse = null) {
      if (!isId(accountId)) return undefined;
      return purse === null ? sum(sql, accountId) : purseSum(sql, accountId, purse);
    },
    unknown: (loaded) => unknown(sql, loaded),
  } satisfies Ledger & OfPostgres;
}

export type PostgresLedger = ReturnType<typeof createPostgresLedger>;
