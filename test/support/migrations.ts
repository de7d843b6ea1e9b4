import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Sql } from "../../core/database/client.ts";
import { migrate } from "../../core/database/migrate.ts";
import { databaseOf } from "../../core/database/plugin-database.ts";
import { usageBooksOf } from "../../core/money/ledger/usage-books.ts";
import { packageRoot } from "../../core/process/root.ts";

/** All migrations that a gateway with every plugin runs at its first start. */
export async function migrateAll(sql: Sql): Promise<void> {
  await migrate(sql);
  const database = databaseOf(sql);
  await usageBooksOf(database).prepare();
  for (const plugin of pluginsWithTables()) {
    await database.migrate(plugin, pathToFileURL(migrationsOf(plugin)));
  }
}

/** Make the functions that this version calls in each commit. */
const FUNCTIONS = ["0022-counted-generation.sql", "0025-one-book.sql"];

/**
 * Runs the migrations of the ledger up to this number, such as `0017`: as an older version leaves it. And makes what this
 * version cannot commit without.
 */
export async function migrateUpTo(sql: Sql, last: string): Promise<void> {
  const folder = join(packageRoot, "core", "money", "ledger", "migrations");
  const copy = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
  try {
    for (const name of readdirSync(folder)) {
      if (name.slice(0, 4) <= last) cpSync(join(folder, name), join(copy, name));
    }
    await migrate(sql, copy);
    for (const name of FUNCTIONS) await sql.script(readFileSync(join(folder, name), "utf8"));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Changes with every change of a migration. */
export function migrationsHash(): string {
  const hash = createHash("sha256");
  const folders = [
    join(packageRoot, "core", "money", "ledger", "migrations"),
    join(packageRoot, "core", "money", "ledger", "page-indexes"),
    ...pluginsWithTables().map((plugin) => migrationsOf(plugin)),
  ];
  for (const folder of folders) {
    for (const file of readdirSync(folder).sort()) {
      hash.update(file).update(readFileSync(join(folder, file)));
    }
  }
  return hash.digest("hex").slice(0, 12);
}

function pluginsWithTables(): string[] {
  const plugins = readdirSync(join(packageRoot, "plugins")).sort();
  return plugins.filter((plugin) => existsSync(migrationsOf(plugin)));
}

function migrationsOf(plugin: string): string {
  return join(packageRoot, "plugins", plugin, "migrations");
}
