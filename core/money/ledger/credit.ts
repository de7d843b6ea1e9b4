import { MICRO_VND_MAX } from "../../catalogue/amount.ts";
import type { Sql } from "../../database/client.ts";
import { isId } from "../../process/id.ts";
import type { LoadedVersion, WalletSnapshot } from "../hold-store.ts";
import type { CreditResult } from "../ledger.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Movement } from "../outbox-entry.ts";
import type { PostgresHistory } from "./history.ts";
import { quarantinedSum } from "./quarantine.ts";

const AMOUNT_MAX = BigInt(MICRO_VND_MAX);

type WalletRow = Required<WalletSnapshot>;

type Outcome = "credited" | "repeated" | "no_account" | "reference_conflict" | "out_of_range";

const NOW = "(extract(epoch from clock_timestamp()) * 1000)::float8";

/** Returns the time of the database's clock, in milliseconds. */
export async function now(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ now: number }>(`select ${NOW} as now`, []);
  if (row === undefined) throw new Error("the ledger did not say its time");
  return row.now;
}

/**
 * See `Ledger.completeThrough`. A commit may take longer than any statement, for example while it waits for a synchronous
 * replica. Movements are single statements, so a transaction that is idle is none.
 *
 * Postgres hides the transactions of other roles from a role without `pg_read_all_stats`, except that they have an id.
 * While one has, it may be a movement by a gateway with another role, such as during a rotation of credentials. So it
 * counts as begun `hiddenTransactionMs` ago.
 */
export async function completeThrough(sql: Pick<Sql, "query">): Promise<number> {
  const [row] = await sql.query<{ time: number }>(
    `select least(${NOW}, (
      select extract(epoch from min(xact_start)) * 1000 from pg_stat_activity
      where datname = current_database() and backend_xid is not null and state = 'active'
    )::float8, (
      select ${NOW} - ${LIFETIMES.hiddenTransactionMs} from pg_stat_activity activity
      where datname = current_database() and query = '<insufficient privilege>' and exists (
        select from pg_locks lock where lock.pid = activity.pid and locktype = 'transactionid' and granted
      )
      limit 1
    )) as time`,
  );
  if (row === undefined) throw new Error("the ledger did not say its time");
  return row.time;
}

/** Commits a movement that adds money in one transaction: see `credit_wallet` in the migrations. */
export async function credit(
  sql: Sql,
  history: PostgresHistory,
  movement: Movement,
): Promise<CreditResult> {
  const { accountId, kind, amountMicroVnd, reference, reason } = movement;
  if (amountMicroVnd > AMOUNT_MAX) return { kind: "out_of_range" };
  const [row] = await history.commit<{ outcome: Outcome }>(
    "select credit_wallet($1, $2, $3, $4, $5) as outcome",
    [accountId, kind, amountMicroVnd, reference, reason],
  );
  const outcome = row?.outcome ?? "no_account";
  if (outcome !== "credited" && outcome !== "repeated") return { kind: outcome };
  return creditedWallet(sql, accountId, outcome === "credited");
}

/** Returns the result of an earlier movement with this reference; undefined if there is none. */
export async function credited(sql: Sql, movement: Movement): Promise<CreditResult | undefined> {
  const { accountId, kind, amountMicroVnd, reference } = movement;
  // Its transaction has the wallet until it ends, which may be long after its process gave up or died.
  await sql.query("select from wallets where account_id = $1 for share", [accountId]);
  const [earlier] = await sql.query<{ account_id: string; kind: string; amount: bigint }>(
    "select account_id, kind, amount from ledger_entries where reference = $1 and call_id is null",
    [reference],
  );
  if (earlier === undefined) return undefined;
  const isSame =
    earlier.account_id === accountId && earlier.kind === kind && earlier.amount === amountMicroVnd;
  return isSame ? creditedWallet(sql, accountId, false) : { kind: "reference_conflict" };
}

const SELECT_WALLETS = `select account_id as "accountId",
      greatest(0, balance - quarantined) as "balanceMicroVnd",
      greatest(0, quarantined - balance) as "uncoveredMicroVnd",
      credit_version as "creditVersion", credited as "creditedMicroVnd"
    from wallets cross join lateral ${quarantinedSum("wallets.account_id")} parked (quarantined)`;

/** Returns wallets by their accounts, less the charges in quarantine. Accounts that do not exist are left out. */
async function readWallets(
  sql: Sql,
  accountIds: readonly string[],
): Promise<Map<string, WalletSnapshot>> {
  const rows = await sql.query<WalletRow>(
    `${SELECT_WALLETS} where account_id = any($1::text::uuid[])`,
    [`{${accountIds.join()}}`],
  );
  return new Map(rows.map((row) => [row.accountId, snapshotOf(row)]));
}

interface Batch {
  readonly accountIds: Set<string>;
  readonly found: Promise<ReadonlyMap<string, WalletSnapshot>>;
}

/**
 * Reads wallets for loads, one query at a time. Those asked for while it runs go together in the next one: after Redis lost
 * its data, the next call of every wallet loads it. A query begins after all its wallets were asked for, so it sees what
 * was committed before.
 */
export class WalletReads {
  private next: Batch | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly sql: Sql) {}

  /** Returns a wallet, less the charges in quarantine; undefined if there is no such account. */
  async read(accountId: string): Promise<WalletSnapshot | undefined> {
    if (!isId(accountId)) return undefined;
    this.next ??= this.batch();
    this.next.accountIds.add(accountId);
    return (await this.next.found).get(accountId);
  }

  private batch(): Batch {
    const accountIds = new Set<string>();
    const found = this.last.then(() => {
      this.next = undefined;
      return readWallets(this.sql, [...accountIds]);
    });
    this.last = found.catch(() => {});
    return { accountIds, found };
  }
}

/** See `Ledger.newerWallets`. */
export async function newerWallets(
  sql: Sql,
  loaded: readonly LoadedVersion[],
): Promise<WalletSnapshot[]> {
  const known = loaded.filter(({ accountId, purse }) => purse === null && isId(accountId));
  const rows = await sql.query<WalletRow>(
    `${SELECT_WALLETS} where account_id in (
      select account_id
      from json_to_recordset($1::text::json) as loaded ("accountId" uuid, version bigint)
      join wallets on account_id = "accountId"
      where credit_version > loaded.version
    )`,
    [JSON.stringify(known)],
  );
  return rows.map(snapshotOf);
}

/**
 * See `Ledger.movedWallets`. Reads the newest rows by their ids: their times have no index. The order of ids differs from
 * that of times by the duration of a statement at most.
 */
export async function movedWallets(sql: Sql, sinceMs: number): Promise<WalletSnapshot[]> {
  // Not in one statement: the planner would take the ids for unknown, and read a third of the table.
  const [last] = await sql.query<{ id: bigint }>(
    `select id from ledger_entries
    where call_id is null and at < to_timestamp($1::float8 / 1000) order by id desc limit 1`,
    [sinceMs],
  );
  const rows = await sql.query<WalletRow>(
    `${SELECT_WALLETS} where account_id in (
      select account_id from ledger_entries where call_id is null and id > $1
    )`,
    [last?.id ?? 0n],
  );
  return rows.map(snapshotOf);
}

function snapshotOf({ uncoveredMicroVnd, ...wallet }: WalletRow): WalletSnapshot {
  return { ...wallet, ...(uncoveredMicroVnd > 0n && { uncoveredMicroVnd }) };
}

/** Reads the wallet after the commit. It includes this movement, and perhaps later ones; its version says which. */
async function creditedWallet(
  sql: Sql,
  accountId: string,
  applied: boolean,
): Promise<CreditResult> {
  const wallet = (await readWallets(sql, [accountId])).get(accountId);
  return wallet === undefined ? { kind: "no_account" } : { kind: "credited", applied, wallet };
}
