import { type Sql, sqlState } from "../../database/client.ts";
import { databaseOf, migrate, type PluginDatabase } from "../../database/migrate.ts";
import type { DatabaseServer } from "../../database/server.ts";
import type { Clock } from "../../process/clock.ts";
import { isId } from "../../process/id.ts";
import type { Log } from "../../process/log.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import type { LoadedVersion, WalletSnapshot } from "../hold-store.ts";
import {
  type CallSearch,
  type CreditResult,
  EntryUnreadable,
  type FoundCalls,
  type Ledger,
  type LedgerSum,
  type ProofProgress,
  type QuarantinedCall,
  type TopUpQuery,
  type TopUpSums,
  type UsageQuery,
} from "../ledger.ts";
import {
  isReadable,
  type Movement,
  type ReadableEntry,
  type StoredEntry,
} from "../outbox-entry.ts";
import type { UsageRecord } from "../usage-fields.ts";
import { createCommit } from "./commit.ts";
import {
  completeThrough,
  credit,
  credited,
  movedWallets,
  newerWallets,
  now,
  readWallet,
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

/** The ledger in Postgres. The operations are in the files beside this one. */
export class PostgresLedger implements Ledger {
  private readonly server: DatabaseServer;
  private readonly sql: Sql;
  private readonly commits: Sql;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly commitOf: ReturnType<typeof createCommit>;
  private readonly proof: LedgerProof;
  private timer: NodeJS.Timeout | undefined;

  readonly history: PostgresHistory;
  readonly epochs: PostgresEpochs;
  /** The database for plugins with their own tables; usable once the ledger has started. */
  readonly database: PluginDatabase;
  /** Connections for what new calls load: see `DatabaseServer`. */
  readonly loads: Sql;

  constructor(options: PostgresLedgerOptions) {
    this.server = options.server;
    this.sql = options.server.sql;
    this.commits = options.server.commits;
    this.loads = options.server.loads;
    this.database = databaseOf(this.sql);
    this.clock = options.clock;
    this.log = options.log;
    this.history = new PostgresHistory(this.commits);
    this.epochs = new PostgresEpochs(this.loads);
    this.commitOf = createCommit(this.commits, this.history);
    this.proof = new LedgerProof(this.sql);
  }

  async start(): Promise<void> {
    await this.server.start();
    try {
      await this.prepare();
    } catch (error) {
      // Else an embedded server keeps the process alive.
      await this.server.stop();
      throw error;
    }
    this.timer = setInterval(() => this.makePartitionsSoon(), HOUR_MS);
    this.timer.unref();
  }

  private async prepare(): Promise<void> {
    const applied = await migrate(this.sql);
    if (applied.length > 0) this.log.info({ applied }, "migrated the ledger");
    // A long read of movements, such as a backup, holds up new months. They are made again later.
    await this.makePartitions().catch((error: unknown) => {
      if (sqlState(error) !== LOCK_TIMEOUT) throw error;
      this.log.warn({ err: error }, "cannot make partitions ahead yet; trying again in an hour");
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    await this.server.stop();
  }

  async ping(timeoutMs: number): Promise<void> {
    if ((await withTimeout(this.commits.query("select 1"), timeoutMs)) !== TIMED_OUT) return;
    throw new Error(`the ledger did not reply within ${timeoutMs} ms`);
  }

  commit(entries: readonly ReadableEntry[]): Promise<readonly string[]> {
    return this.commitOf.all(entries);
  }

  quarantine(entry: StoredEntry, reason: string): Promise<void> {
    return quarantine(this.history, entry, reason);
  }

  quarantined(): Promise<number> {
    return quarantined(this.commits);
  }

  quarantineList(limit: number): Promise<QuarantinedCall[]> {
    return quarantineList(this.sql, limit);
  }

  quarantinedCall(callId: string): Promise<QuarantinedCall | undefined> {
    return quarantinedCall(this.sql, callId);
  }

  async commitQuarantined(callId: string): Promise<boolean> {
    const call = await quarantinedCall(this.sql, callId);
    if (call === undefined) return false;
    const { entry } = call;
    if (!isReadable(entry)) throw new EntryUnreadable(entry.reason);
    await this.commitOf.quarantined(entry);
    return true;
  }

  hasCall(call: { readonly callId: string; readonly at: number }): Promise<boolean> {
    return hasCall(this.loads, call);
  }

  async credit(movement: Movement): Promise<CreditResult> {
    if (!isId(movement.accountId)) return { kind: "no_account" };
    return credit(this.commits, this.history, movement);
  }

  /** Returns the time by the clock of Postgres, in milliseconds since the Unix epoch. */
  now(): Promise<number> {
    return now(this.commits);
  }

  completeThrough(): Promise<number> {
    return completeThrough(this.sql);
  }

  async credited(movement: Movement): Promise<CreditResult | undefined> {
    if (!isId(movement.accountId)) return { kind: "no_account" };
    return credited(this.commits, movement);
  }

  async topUps(query: TopUpQuery): Promise<TopUpSums> {
    if (!isId(query.accountId)) return { totalMicroVnd: 0n, periodMicroVnd: 0n };
    return topUps(this.loads, query);
  }

  async wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    if (!isId(accountId)) return undefined;
    return readWallet(this.loads, accountId);
  }

  async purse(accountId: string, name: string): Promise<WalletSnapshot | undefined> {
    if (!isId(accountId)) return undefined;
    return readPurse(this.loads, accountId, name);
  }

  newerWallets(loaded: readonly LoadedVersion[]): Promise<WalletSnapshot[]> {
    return newerWallets(this.loads, loaded);
  }

  movedWallets(sinceMs: number): Promise<WalletSnapshot[]> {
    return movedWallets(this.sql, sinceMs);
  }

  async usage(query: UsageQuery): Promise<UsageRecord[]> {
    if (!isId(query.accountId)) return [];
    return usage(this.sql, query);
  }

  async searchCalls(search: CallSearch): Promise<FoundCalls> {
    const { accountId, keyId } = search;
    const isKnown = [accountId, keyId].every((id) => id === undefined || isId(id));
    return isKnown ? searchCalls(this.sql, search) : { records: [], next: undefined };
  }

  async call(callId: string): Promise<UsageRecord | undefined> {
    if (!isId(callId)) return undefined;
    return callById(this.sql, callId);
  }

  async prove({ isRestart = false } = {}): Promise<ProofProgress> {
    if (isRestart) await this.proof.restart();
    return this.proof.advance();
  }

  async *sums(isQuick = false): AsyncGenerator<LedgerSum> {
    const prove = async () => {
      while (!(await this.proof.advance()).isDone);
    };
    if (!isQuick) await prove();
    yield* sums(this.sql, { isQuick, prove });
    yield* purseSums(this.sql, isQuick);
  }

  async sum(accountId: string, purse: string | null = null): Promise<LedgerSum | undefined> {
    if (!isId(accountId)) return undefined;
    return purse === null ? sum(this.sql, accountId) : purseSum(this.sql, accountId, purse);
  }

  unknown(loaded: readonly LoadedVersion[]): Promise<LoadedVersion[]> {
    return unknown(this.sql, loaded);
  }

  private makePartitions(): Promise<void> {
    return makeUsagePartitions(this.sql, new Date(this.clock.now()), MONTHS_AHEAD);
  }

  private makePartitionsSoon(): void {
    this.makePartitions().catch((error: unknown) => {
      this.log.error({ err: error }, "cannot make partitions ahead; commits make their own");
    });
  }
}
