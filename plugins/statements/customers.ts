import type { Services } from "../../core/plugin/index.ts";
import type { Party } from "./invoice.ts";

type Database = Services["database"];

interface Row {
  readonly name: string;
  readonly taxCode: string;
  readonly address: string;
}

/** Returns the buyer for VAT invoices, if the customer has entered one. */
export async function buyerOf(database: Database, accountId: string): Promise<Party | undefined> {
  const [row] = await database.query<Row>(
    `select buyer_name as name, buyer_tax_code as "taxCode", buyer_address as address
    from statements_customers where account_id = $1`,
    [accountId],
  );
  return row && { name: row.name, tax_code: row.taxCode, address: row.address };
}

export async function setBuyer(
  database: Database,
  accountId: string,
  buyer: Party | null,
): Promise<void> {
  if (buyer === null) {
    await database.query("delete from statements_customers where account_id = $1", [accountId]);
    return;
  }
  await database.query(
    `insert into statements_customers (account_id, buyer_name, buyer_tax_code, buyer_address)
    values ($1, $2, $3, $4)
    on conflict (account_id) do update set buyer_name = $2, buyer_tax_code = $3, buyer_address = $4`,
    [accountId, buyer.name, buyer.tax_code, buyer.address],
  );
}
