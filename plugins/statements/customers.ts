import type { Services } from "../../core/plugin/index.ts";
import type { Party } from "./invoice.ts";

type Database = Services["database"];

/** The settings of a customer for statements. */
interface Settings {
  /** True if a mail comes when a statement is closed. */
  readonly isMailed: boolean;
  readonly buyer: Party | undefined;
}

interface Row {
  readonly isMailed: boolean;
  readonly name: string | null;
  readonly taxCode: string | null;
  readonly address: string | null;
}

export async function settingsOf(database: Database, accountId: string): Promise<Settings> {
  const [row] = await database.query<Row>(
    `select is_mailed as "isMailed", buyer_name as name, buyer_tax_code as "taxCode", buyer_address as address
    from statements_customers where account_id = $1`,
    [accountId],
  );
  const { isMailed = true, name = null, taxCode = null, address = null } = row ?? {};
  const isComplete = name !== null && taxCode !== null && address !== null;
  return { isMailed, buyer: isComplete ? { name, tax_code: taxCode, address } : undefined };
}

export async function setSettings(
  database: Database,
  accountId: string,
  { isMailed, buyer }: Settings,
): Promise<void> {
  await database.query(
    `insert into statements_customers (account_id, is_mailed, buyer_name, buyer_tax_code, buyer_address)
    values ($1, $2, $3, $4, $5)
    on conflict (account_id) do update set is_mailed = $2, buyer_name = $3, buyer_tax_code = $4, buyer_address = $5`,
    [accountId, isMailed, buyer?.name ?? null, buyer?.tax_code ?? null, buyer?.address ?? null],
  );
}
