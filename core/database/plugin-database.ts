import { join } from "node:path";
import type { Database } from "../contract/database.ts";
import { packageRoot } from "../process/root.ts";
import type { Sql } from "./client.ts";
import { migrate } from "./migrate.ts";

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
