import { isDeepStrictEqual } from "node:util";
import type { Config, LoadedPlugin } from "../contract/config.ts";
import type { Plugin } from "../contract/plugin.ts";
import type { Services } from "../contract/services.ts";
import type { Slots } from "../contract/slot.ts";
import type { PluginDatabase } from "../database/plugin-database.ts";
import { announced } from "../process/announced.ts";
import type { Log } from "../process/log.ts";
import { preparePlugin } from "./prepare-plugin.ts";
import type { Owner, SlotBoard } from "./slots.ts";

/** A plugin that runs, with the config that it was made with. */
export interface Running {
  readonly owner: Owner;
  readonly loaded: LoadedPlugin;
  readonly config: Config;
  readonly plugin: Plugin;
}

/** Makes and starts the plugins of one config after another, and stops those that a config leaves behind. */
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
   * Starts the plugins of a config in its order; those of `before` that it leaves unchanged go on as they are. If one
   * fails, those that were started stop again. What they provide counts once `serve` is called.
   */
  async start(config: Config, before: readonly Running[]): Promise<Running[]> {
    const plan = config.plugins.map((loaded) => {
      const kept = before.find((running) => isUnchanged(running, loaded, config));
      return { loaded, kept, owner: kept?.owner ?? { name: loaded.name } };
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
        await preparePlugin(plugin, ahead, this.database);
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

  /** From now on what the plugins that were started last provide counts, and nothing else. */
  serve(): void {
    this.board.serve();
  }

  /** Stops the plugins of `running` that `before` does not have, and leaves everything as it was before `start`. */
  async giveUp(running: readonly Running[], before: readonly Running[]): Promise<void> {
    this.board.giveUp();
    await this.stop(running.filter((entry) => !before.includes(entry)));
  }

  /** Tells a plugin that a reload has made where the gateway listens. It serves already, so a failure is logged. */
  async listening({ owner, plugin }: Running, address: string): Promise<void> {
    try {
      await plugin.listening?.(address);
    } catch (error) {
      this.log.error({ err: error, plugin: owner.name }, "a plugin failed after a reload");
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

/** True if the running plugin is what `loaded` asks for: same module and options, and no change of what it read. */
function isUnchanged(running: Running, loaded: LoadedPlugin, config: Config): boolean {
  const { name, module, options } = running.loaded;
  return (
    name === loaded.name &&
    module === loaded.module &&
    isDeepStrictEqual(options, loaded.options) &&
    (module.reads ?? []).every((key) => isDeepStrictEqual(running.config[key], config[key]))
  );
}
