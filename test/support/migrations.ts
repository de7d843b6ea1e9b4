import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Sql } from "../../core/database/client.ts";
import { databaseOf, migrate } from "../../core/database/migrate.ts";
import { packageRoot } from "../../core/process/root.ts";
import { usageBooksOf } from "../../core/usage/usage-books.ts";

/** All migrations that a gateway with every plugin runs at its first start. */
export async function migrateAll(sql: Sql): Promise<void> {
  await migrate(sql);
  const database = databaseOf(sql);
  await usageBooksOf(database).prepare();
  await usageBooksOf(database).prepareReport();
  await usageBooksOf(database).months.prepare();
  for (const plugin of pluginsWithTables()) {
    await database.migrate(plugin, pathToFileURL(migrationsOf(plugin)));
  }
}

/** Changes with every change of a migration. */
export function migrationsHash(): string {
  const hash = createHash("sha256");
  const folders = [
    join(packageRoot, "core", "database", "migrations"),
    join(packageRoot, "core", "usage", "page-indexes"),
    join(packageRoot, "core", "usage", "report-sums"),
    join(packageRoot, "core", "usage", "month-statements"),
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
