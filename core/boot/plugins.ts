import { isDeepStrictEqual } from "node:util";
import type { PluginDatabase } from "../database/plugin-database.ts";
import type { ConfigWithPlugins, LoadedPlugin, Plugin } from "../plugin/plugin.ts";
import type { Services } from "../plugin/services.ts";
import type { Slots } from "../plugin/slot.ts";
import { announced } from "../process/announced.ts";
import type { Log } from "../process/log.ts";
import type { Owner, SlotBoard } from "./slots.ts";

/** A running plugin, and the config that it was created with. */
export interface Running {
  readonly owner: Owner;
  readonly loaded: LoadedPlugin;
  readonly config: ConfigWithPlugins;
  readonly plugin: Plugin;
}

/** Creates and starts the plugins of each config, and stops those that the next config drops. */
export class PluginRunner {
  private readonly board: SlotBoard;
  private readonly servicesOf: (slots: Slots) => Services;
  private readonly database: PluginDatabase;
  private readonly log: Log;

  constructor(
    board: SlotBoard,
    servicesOf: (slots: Slots) => Services,
    database: PluginDatabase,
    log: Log,
  ) {
    this.board = board;
    this.servicesOf = servicesOf;
    this.database = database;
    this.log = log;
  }

  /**
   * Starts the plugins of a config in its order. Those of `before` that are unchanged keep running.
   * If one fails, stops those that were started. What they provide takes effect with `serve`.
   */
  async start(config: ConfigWithPlugins, before: readonly Running[]): Promise<Running[]> {
    const plan = config.plugins.map((loaded) => {
      const kept = before.find((running) => isUnchanged(running, loaded, config));
      return { loaded, kept, owner: kept?.owner ?? ownerOf(loaded) };
    });
    this.board.start(new Set(plan.map(({ owner }) => owner)));
    const running: Running[] = [];
    for (const { loaded, kept, owner } of plan) {
      if (kept) {
        running.push(kept);
        continue;
      }
      try {
        const services = this.servicesOf(this.board.slotsOf(owner));
        const plugin = loaded.module.default(services, loaded.options);
        const ahead = running.map((entry) => entry.plugin);
        const prepared = preparePlugin(plugin, ahead, this.database);
        await announced(this.log, `the tables of plugin ${plugin.name}`, prepared);
        await announced(this.log, `plugin ${plugin.name}`, Promise.resolve(plugin.start?.()));
        running.push({ owner, loaded, config, plugin });
      } catch (error) {
        await this.giveUp(running, before);
        this.board.withdraw(owner);
        throw error;
      }
    }
    return running;
  }

  /** Makes the values that the newly started plugins provide take effect, and no others. */
  serve(): void {
    this.board.serve();
  }

  /**
   * Stops the plugins of `running` that are not in `before`, and restores the state before `start`.
   */
  async giveUp(running: readonly Running[], before: readonly Running[]): Promise<void> {
    this.board.giveUp();
    await this.stop(running.filter((entry) => !before.includes(entry)));
  }

  /**
   * Calls `listening` of a plugin that a reload created. The gateway serves already, so a failure
   * is only logged.
   */
  async listening({ owner, plugin }: Running, address: string): Promise<void> {
    try {
      await plugin.listening?.(address);
    } catch (error) {
      this.log.error(
        { err: error, plugin: owner.name },
        "a plugin's listening failed after a reload; the gateway serves without it",
      );
    }
  }

  /** Stops plugins, last to first, and withdraws what they provided. */
  async stop(plugins: readonly Running[]): Promise<void> {
    for (const { owner, plugin } of [...plugins].reverse()) {
      try {
        await plugin.stop?.();
      } catch (error) {
        this.log.error({ err: error, plugin: owner.name }, "a plugin did not stop cleanly");
      }
      this.board.withdraw(owner);
    }
  }
}

function ownerOf({ name, module }: LoadedPlugin): Owner {
  return { name, uses: module.uses ?? [] };
}

/**
 * Returns true if the running plugin has the module and options of `loaded`, and nothing that it
 * reads has changed.
 */
function isUnchanged(running: Running, loaded: LoadedPlugin, config: ConfigWithPlugins): boolean {
  const { name, module, options } = running.loaded;
  return (
    name === loaded.name &&
    module === loaded.module &&
    isDeepStrictEqual(options, loaded.options) &&
    (module.reads ?? []).every((key) => isDeepStrictEqual(running.config[key], config[key]))
  );
}

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
