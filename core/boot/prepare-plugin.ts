import type { PluginDatabase } from "../database/plugin-database.ts";
import type { Plugin } from "../plugin/plugin.ts";

/**
 * Checks a plugin's name against those of the plugins before it, and applies its migrations. Runs
 * before `start`. Throws an error that says what to change.
 */
export async function preparePlugin(
  plugin: Plugin,
  before: Iterable<Plugin>,
  database: PluginDatabase,
): Promise<void> {
  const { name, migrations } = plugin;
  if (!/^[a-z][a-z-]*$/.test(name)) {
    throw new Error(
      `"${name}" is not a valid name for a plugin: use lower-case letters and hyphens`,
    );
  }
  for (const other of before) {
    if (other.name === name) throw new Error(`two plugins are named ${name}: rename one of them`);
  }
  if (migrations) await database.migrate(name, migrations);
}
