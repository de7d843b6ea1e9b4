import type { Sql } from "../../database/client.ts";
import { FIRST_ID, isId } from "../../process/id.ts";
import type { LoadedVersion } from "../hold-store.ts";
import type { LedgerSum } from "../ledger.ts";
import { walletKey } from "../purse.ts";
import { quarantinedSum } from "./quarantine.ts";

const PAGE = 1_000;
/** A page without unproven rows takes 15 ms. A statement may take 30 s. */
const PAGE_MS_MAX = 500;

const PROVEN = `coalesce((
    select amount from proven_wallets proven where proven.account_id = wallet.account_id
  ), 0)`;
/** SQL of the proven sum plus all rows after it: of one wallet by an index of each month, of a page of them in one go. */
const SUM = `${PROVEN} + (
    select coalesce(sum(amount), 0)::bigint from ledger_entries entry
    where entry.account_id = wallet.account_id and entry.id > (select entry_id from ledger_proof)
  )`;
const SUM_OF_PAGE = `${PROVEN} + coalesce((
    select amount from unproven where unproven.account_id = wallet.account_id
  ), 0)`;
interface SumsOptions {
  /** Adds up the rows that are not proven yet. */
  readonly prove?: () => Promise<void>;
  readonly pageMsMax?: number;
}

/** Columns of one statement, so that all figures are of one instant. */
function columns(entries: string): string {
  const quarantined = quarantinedSum("wallet.account_id");
  return `account_id as "accountId", null as "purse", balance as "balanceMicroVnd",
    ${entries} as "entriesMicroVnd", ${quarantined} as "quarantinedMicroVnd"`;
}

/**
 * Yields all wallets, read in pages: bounds memory, and holds no connection between two pages. Each page adds up all rows
 * that are not proven, and calls go on writing: `prove` is called after a page that took long.
 */
export async function* sums(
  sql: Pick<Sql, "query">,
  { prove = async () => {}, pageMsMax = PAGE_MS_MAX }: SumsOptions = {},
): AsyncGenerator<LedgerSum> {
  const text = `with unproven as materialized (select * from unproven_sums())
    select ${columns(SUM_OF_PAGE)} from (
      select account_id, balance from wallets where account_id > $1 order by account_id limit $2
    ) wallet
    order by account_id`;
  let after = FIRST_ID;
  for (;;) {
    const startedMs = performance.now();
    const page = await sql.query<LedgerSum>(text, [after, PAGE]);
    const isSlow = performance.now() - startedMs > pageMsMax;
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.accountId;
    if (isSlow) await prove();
  }
}

export async function sum(
  sql: Pick<Sql, "query">,
  accountId: string,
): Promise<LedgerSum | undefined> {
  const [found] = await sql.query<LedgerSum>(
    `select ${columns(SUM)} from wallets wallet where account_id = $1`,
    [accountId],
  );
  return found;
}

/** See `Ledger.unknown`. */
export async function unknown(
  sql: Sql,
  loaded: readonly LoadedVersion[],
): Promise<LoadedVersion[]> {
  const rows = await sql.query<{ accountId: string; purse: string | null }>(
    `select "accountId", purse
    from json_to_recordset($1::text::json) as loaded ("accountId" uuid, purse text)
    where case when purse is null then exists (select from wallets where account_id = "accountId")
      else exists (select from purses where account_id = "accountId" and name = purse) end`,
    [JSON.stringify(loaded.filter(({ accountId }) => isId(accountId)))],
  );
  const known = new Set(rows.map(({ accountId, purse }) => walletKey(accountId, purse)));
  return loaded.filter(({ accountId, purse }) => !known.has(walletKey(accountId, purse)));
}
