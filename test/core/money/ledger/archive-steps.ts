import type { Sql } from "../../../../core/database/client.ts";
import { archiveOf } from "../../../../core/money/ledger/archive.ts";

/** Archives a period without files, and drops its tables. Returns what each step did. */
export async function archive(sql: Sql, month: string): Promise<string[]> {
  const archive = archiveOf(sql);
  const closed = await archive.close(month);
  return [closed, await detach(sql, month), await archive.drop(month)];
}

/** Adds up a closed period, and detaches it without files. Returns what the ledger did. */
export async function detach(sql: Sql, month: string): Promise<string> {
  const archive = archiveOf(sql);
  while ((await archive.addUp(month)) > 0);
  const tables = (await archive.tables(month)).map((table) => ({
    ...table,
    rows: Number(table.rows),
  }));
  return archive.detach(month, { month, tables });
}
