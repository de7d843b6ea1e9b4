import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Sql } from "./client.ts";
import type { Database } from "./database.ts";
import { migrate } from "./migrate.ts";

/** The database for plugins, with `migrate` for core alone. */
export interface PluginDatabase extends Database {
  /**
   * Applies the new migrations of a plugin, under a lock, so that many processes may start at once. Records them under
   * the plugin's name. Throws if another plugin of this name was there before.
   */
  migrate(plugin: string, folder: URL): Promise<void>;
}

export function databaseOf(sql: Sql): PluginDatabase {
  return {
    query: (text, parameters) => sql.query(text, parameters),
    migrate: async (plugin, url) => {
      const folder = fileURLToPath(url);
      const found = await stat(folder).catch(() => undefined);
      if (!found?.isDirectory()) {
        throw new Error(`the plugin ${plugin} has no folder of migrations at ${folder}`);
      }
      // Two plugins cannot share this table: a plugin's name has no underscore.
      await migrate(sql, folder, `${plugin.replaceAll("-", "_")}_migrations`);
    },
  };
}
