import { join } from "node:path";
import type { Parameter, Sql } from "../database/client.ts";
import { migrate } from "../database/migrate.ts";
import { packageRoot } from "../process/root.ts";

/**
 * The ledger's database, for plugins that own tables. One statement is one transaction, and there is none
 * that spans several: work that must happen whole is a function in the plugin's migrations.
 */
export interface Database {
  /** The rows of one statement with parameters `$1`, `$2`…; columns of type bigint are BigInt. Rejects while
   * the database is away, and with its error where it refuses: `sqlState` (ledger/client.ts) names it. */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>;
  /**
   * Applies what is new in a plugin's folder of migrations (`plugins/NAME/migrations/0001-….sql`), under a
   * lock, so that any number of processes may start at once.
   */
  migrate(plugin: string): Promise<void>;
}

export function databaseOf(sql: Sql): Database {
  return {
    query: (text, parameters) => sql.query(text, parameters),
    migrate: async (plugin) => {
      if (!/^[a-z][a-z-]*$/.test(plugin)) throw new Error(`${plugin} is no plugin's name`);
      const folder = join(packageRoot, "plugins", plugin, "migrations");
      await migrate(sql, folder, `${plugin.replaceAll("-", "_")}_migrations`);
    },
  };
}
