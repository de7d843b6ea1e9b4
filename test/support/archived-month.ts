import { archiveOf } from "../../core/money/ledger/archive.ts";
import type { TestGateway } from "./gateway.ts";
import { withLedger } from "./ledger-sql.ts";

/** Takes a month (`2026-03`) out of a gateway's ledger as `archive export` does, but writes no files. */
export function archiveMonth(gateway: TestGateway, month: string): Promise<void> {
  return withLedger(gateway, async (sql) => {
    const archive = archiveOf(sql);
    await closeMonth(gateway, month);
    while ((await archive.addUp(month)) > 0);
    const tables = await archive.tables(month);
    const manifest = {
      month,
      tables: tables.map((table) => ({ ...table, rows: Number(table.rows) })),
    };
    const result = await archive.detach(month, manifest);
    if (result !== "detached") throw new Error(`${month} is not detached: ${result}`);
  });
}

/** Closes a month, which stays in the ledger: the first step of `archiveMonth`. */
export function closeMonth(gateway: TestGateway, month: string): Promise<void> {
  return withLedger(gateway, async (sql) => {
    const result = await archiveOf(sql).close(month);
    if (result !== "closed") throw new Error(`${month} is not closed: ${result}`);
  });
}
