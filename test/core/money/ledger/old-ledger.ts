import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sql } from "../../../../core/database/client.ts";
import { migrate } from "../../../../core/database/migrate.ts";
import { archiveOf } from "../../../../core/money/ledger/archive.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { packageRoot } from "../../../../core/process/root.ts";

const FOLDER = join(packageRoot, "core/money/ledger/migrations");
/** Makes the function that this version calls in each commit. */
const COUNTED = "0022-counted-generation.sql";

/** Runs the migrations up to this number, and makes what this version cannot commit without. */
export async function upTo(sql: Sql, last: string): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
  try {
    for (const name of readdirSync(FOLDER)) {
      if (name.slice(0, 4) <= last) cpSync(join(FOLDER, name), join(copy, name));
    }
    await migrate(sql, copy);
    await sql.script(readFileSync(join(FOLDER, COUNTED), "utf8"));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Archives a period without files, and drops its tables. Returns what each step did. */
export async function archive(sql: Sql, ledger: PostgresLedger, month: string): Promise<string[]> {
  const archive = archiveOf(sql);
  while (!(await ledger.prove()).isDone);
  const closed = await archive.close(month);
  while ((await archive.addUp(month)) > 0);
  const tables = (await archive.tables(month)).map((table) => ({
    ...table,
    rows: Number(table.rows),
  }));
  return [closed, await archive.detach(month, { month, tables }), await archive.drop(month)];
}
