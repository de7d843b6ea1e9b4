import type postgres from "postgres";

export interface UsageRow {
  call_id: string;
  account_id: string;
  model: string;
  mapped_from: string | null;
  charged: bigint;
  written_off: bigint;
  input_tokens: bigint;
  output_tokens: bigint;
  outcome: string;
  /** The provider reported no usage, as for most streams that are cut. */
  estimated: boolean;
}

export interface LedgerRow {
  account_id: string;
  kind: string;
  amount: bigint;
  balance_after: bigint;
  call_id: string | null;
  reference: string | null;
}

export interface WalletRow {
  account_id: string;
  balance: bigint;
}

/** All that Postgres has at the end of a run. */
export interface Books {
  readonly usage: readonly UsageRow[];
  /** In the order in which they were written. */
  readonly ledger: readonly LedgerRow[];
  readonly wallets: readonly WalletRow[];
  readonly quarantined: bigint;
}

export async function readBooks(sql: postgres.Sql): Promise<Books> {
  const usage: UsageRow[] = await sql`select * from usage_records`;
  const ledger: LedgerRow[] = await sql`select * from ledger_entries order by id`;
  const wallets: WalletRow[] = await sql`select * from wallets`;
  const [aside] = await sql<{ calls: bigint }[]>`select count(*) as calls from quarantine`;
  return { usage, ledger, wallets, quarantined: aside?.calls ?? 0n };
}
