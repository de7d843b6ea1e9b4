import { hostname } from "node:os";
import type { Database } from "../../database/database.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { LIFETIMES, type Lifetimes } from "../lifetimes.ts";

interface BalancesLockOptions {
  readonly database: Database;
  /** The id of this process. Its connections have the name `connectionName(session)`. */
  readonly session: string;
  /** The path of the data folder. The caller has locked it. */
  readonly path: string;
  /** The id of the data folder, which moves with it. */
  readonly folder: string;
  /**
   * Drops every wallet, so that it is loaded again; another gateway may have charged it. Returns false while a call has
   * a hold, or is not committed.
   */
  readonly forgetWallets: () => boolean;
  readonly log: Log;
  readonly machine?: Machine;
  readonly times?: Pick<Lifetimes, "balancesBeatMs" | "balancesSilentMs">;
  readonly host?: string;
}

/** Time between two checks for connections of earlier processes. */
const POLL_MS = 20;
const NAME = "tollgate balances";

interface Owner {
  readonly folder: string;
  readonly session: string;
  readonly place: string;
  readonly beats: bigint;
  readonly at: Date;
}

/**
 * A lock in a shared Postgres for the gateway that keeps balances in its memory. Two of them on one ledger would sell
 * the same money twice. The lock is a row, so it outlives connections, and the gateway itself: after a kill, only the
 * journal in its data folder has the calls that it posted and did not commit.
 *
 * While Postgres is down the gateway goes on: no other gateway can take the row then.
 */
export class BalancesLock {
  private readonly machine: Machine;
  private readonly session: string;
  private readonly place: string;
  private readonly task: PeriodicTask;
  private lostTo: string | undefined;

  constructor(private readonly options: BalancesLockOptions) {
    const { machine = systemMachine, host = hostname(), path, times = LIFETIMES } = options;
    this.session = options.session;
    this.machine = machine;
    this.place = placeOf(host, process.pid, path);
    this.task = new PeriodicTask(async () => {
      await this.beat();
      return times.balancesBeatMs;
    }, machine);
  }

  /** Takes the lock. Throws if another gateway has it, or has left uncommitted calls in another data folder. */
  async start(): Promise<void> {
    if (!(await this.insert())) await this.takeOver();
    await this.endEarlierSessions();
    this.task.start();
  }

  /** `isCommitted`: no posted call of this folder is missing in the ledger. Only then may another folder be used. */
  async stop(isCommitted: boolean): Promise<void> {
    await this.task.stop();
    if (!isCommitted) return;
    const statement = "delete from balances_owner where session = $1";
    await this.options.database.query(statement, [this.session]).catch((error: unknown) => {
      this.options.log.warn(
        { err: error },
        "cannot release the balances of the ledger; only this data folder can take them again",
      );
    });
  }

  /** Returns why all holds are refused now; undefined if this gateway has the lock. */
  refusal(): string | undefined {
    return this.lostTo;
  }

  private async insert(): Promise<boolean> {
    const { database, folder } = this.options;
    const inserted = await database.query(
      `insert into balances_owner (folder, session, place) values ($1, $2, $3)
      on conflict do nothing returning 1 as taken`,
      [folder, this.session, this.place],
    );
    return inserted.length > 0;
  }

  private async takeOver(): Promise<void> {
    const owner = await readOwner(this.options.database);
    if (owner === undefined && (await this.insert())) return;
    if (owner === undefined) return this.takeOver();
    if (owner.folder !== this.options.folder) throw new BalancesTaken(owner);
    // A process on the same host and path is dead, as this one has locked the folder. Elsewhere the folder was moved, or
    // copied: then its first owner may still run.
    if (!sameFolder(owner.place, this.place)) {
      await sleep(this.machine, (this.options.times ?? LIFETIMES).balancesSilentMs);
    }
    if (await this.replace(owner)) return;
    throw new BalancesTaken((await readOwner(this.options.database)) ?? owner);
  }

  /**
   * Ends the connections of earlier processes. A killed one may have sent a commit that Postgres has not carried out yet:
   * carried out after a wallet is loaded, it would leave the wallet with more or less than the ledger.
   */
  private async endEarlierSessions(): Promise<void> {
    const statement = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like $1 and application_name <> $2`;
    const names = [connectionName("%"), connectionName(this.session)];
    while ((await this.options.database.query(statement, names)).length > 0) {
      await sleep(this.machine, POLL_MS);
    }
  }

  /** Takes the row from an owner that has not changed it since. */
  private async replace(owner: Owner): Promise<boolean> {
    const replaced = await this.options.database.query(
      `update balances_owner set session = $1, place = $2, beats = beats + 1, at = now()
      where session = $3 and beats = $4 returning 1 as taken`,
      [this.session, this.place, owner.session, owner.beats],
    );
    return replaced.length > 0;
  }

  private async beat(): Promise<void> {
    const { database, log } = this.options;
    try {
      const own = await database.query(
        `update balances_owner set beats = beats + 1, at = now() where session = $1
        returning 1 as own`,
        [this.session],
      );
      if (own.length > 0 || (await this.isRegained())) {
        if (this.lostTo !== undefined)
          log.warn("this gateway keeps the balances of the ledger again");
        this.lostTo = undefined;
        return;
      }
      const owner = await readOwner(database);
      const first = this.lostTo === undefined;
      this.lostTo = `another gateway keeps the balances of this ledger: ${owner?.place ?? "none now"}`;
      if (first)
        log.error({ reason: this.lostTo }, "lost the balances of the ledger; calls get 503");
    } catch (error) {
      log.debug({ err: error }, "cannot confirm the lock on balances; Postgres is unreachable");
    }
  }

  /** Takes the row again once it is free, or a restored ledger shows an earlier process of this folder. */
  private async isRegained(): Promise<boolean> {
    const { database, folder, forgetWallets } = this.options;
    const owner = await readOwner(database);
    if (owner !== undefined && owner.folder !== folder) return false;
    if (owner !== undefined && !sameFolder(owner.place, this.place)) return false;
    // Before the loss is noticed, calls are still served. So only a noticed loss can end, once all wallets are dropped.
    if (this.lostTo === undefined || !forgetWallets()) return false;
    return owner === undefined ? this.insert() : this.replace(owner);
  }
}

/** Returns the name that the connections of a process with balances in its memory have in Postgres. */
export function connectionName(session: string): string {
  return `${NAME} ${session}`;
}

/** Another gateway keeps the balances of the ledger. */
class BalancesTaken extends Error {
  constructor({ place, at }: Owner) {
    super(
      `stores: the balances of this ledger are kept by ${place}, last seen at ${at.toISOString()}. ` +
        "Two gateways with embedded balances would spend the same money twice. Stop that gateway, or set stores.hot " +
        "to a Redis that both use. If the data folder of that gateway is lost for good, with the calls in it that were not " +
        "committed, run in Postgres: delete from balances_owner",
    );
    this.name = "BalancesTaken";
  }
}

/** Throws if a gateway keeps the balances of this ledger in its memory. For gateways that keep them in Redis. */
export async function refuseOwnedBalances(database: Database): Promise<void> {
  const owner = await readOwner(database);
  if (owner !== undefined) throw new BalancesTaken(owner);
}

async function readOwner(database: Database): Promise<Owner | undefined> {
  const [owner] = await database.query<Owner>(
    "select folder, session, place, beats, at from balances_owner",
  );
  return owner;
}

function placeOf(host: string, pid: number, path: string): string {
  return `process ${pid} on ${host} with data folder ${path}`;
}

function sameFolder(one: string, other: string): boolean {
  const withoutProcess = (place: string) => place.replace(/^process \d+ /, "");
  return withoutProcess(one) === withoutProcess(other);
}
