import { isDeepStrictEqual } from "node:util";
import type { PluginDatabase } from "../database/migrate.ts";
import type { HttpCall } from "../http/http-call.ts";
import type { Server } from "../http/server.ts";
import type { Config } from "../plugin/config.ts";
import type { ConfigWithPlugins, LoadedPlugin, Plugin } from "../plugin/plugin.ts";
import type { Services } from "../plugin/services.ts";
import type { Slots } from "../plugin/slot.ts";
import { announced } from "../process/announced.ts";
import type { Clock } from "../process/clock.ts";
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
  constructor(
    private readonly board: SlotBoard,
    private readonly servicesOf: (slots: Slots) => Services,
    private readonly database: PluginDatabase,
    private readonly log: Log,
  ) {}

  /**
   * Starts the plugins of a config in its order. Those of `before` that are unchanged keep running. If one fails, stops
   * those that were started. What they provide takes effect with `serve`.
   */
  async start(config: ConfigWithPlugins, before: readonly Running[]): Promise<Running[]> {
    const plan = config.plugins.map((loaded) => {
      const kept = before.find((running) => isUnchanged(running, loaded, config));
      const { name, module } = loaded;
      return { loaded, kept, owner: kept?.owner ?? { name, uses: module.uses ?? [] } };
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

  /** Stops the plugins of `running` that are not in `before`, and restores the state before `start`. */
  async giveUp(running: readonly Running[], before: readonly Running[]): Promise<void> {
    this.board.giveUp();
    await this.stop(running.filter((entry) => !before.includes(entry)));
  }

  /** Calls `listening` of a plugin that a reload created. The gateway serves already, so a failure is only logged. */
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

/** Returns true if calls in flight run the plugin's methods until they are over. */
export function takesPartInCalls({ admit, request, stream, close, ended }: Plugin): boolean {
  return [admit, request, stream, close, ended].some((method) => method !== undefined);
}

/** Returns true if the running plugin has the module and options of `loaded`, and nothing that it reads has changed. */
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
 * Checks a plugin's name against those of the plugins before it, and applies its migrations. Runs before `start`.
 * Throws an error that says what to change.
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

/**
 * Returns the config that takes effect at a reload: settings bound to the process stay as they are. Equal parts are the
 * same objects as before, so that plugins compare them for nothing: a catalogue takes 10 ms.
 */
export function inForce<T extends Config>(given: T, running: Config): T {
  const stores = { ...running.stores, monthsKept: given.stores.monthsKept };
  const listen = { ...running.listen, trustedProxies: given.listen.trustedProxies };
  const { headerBytesMax, keyCacheBytesMax } = running.limits;
  const limits = { ...given.limits, headerBytesMax, keyCacheBytesMax };
  const admin = { ...given.admin, listen: running.admin.listen };
  const next: T = { ...given, listen, admin, stores, limits };
  const equal = Object.entries(running).filter(([key, value]) =>
    isDeepStrictEqual(value, next[key as keyof T]),
  );
  return Object.assign(next, Object.fromEntries(equal));
}

/** Returns the names of settings of `given` that take effect only after a restart. */
export function changedSettings(given: Config, running: Config): string[] {
  const names: string[] = [];
  for (const key of ["host", "port", "workers", "engine"] as const) {
    if (given.listen[key] !== running.listen[key]) names.push(`listen.${key}`);
  }
  if (!isDeepStrictEqual(given.admin.listen, running.admin.listen)) names.push("admin.listen");
  for (const key of ["hot", "ledger", "connections", "data"] as const) {
    if (!isDeepStrictEqual(given.stores[key], running.stores[key])) names.push(`stores.${key}`);
  }
  const { headerBytesMax, keyCacheBytesMax } = running.limits;
  if (given.limits.headerBytesMax !== headerBytesMax) names.push("limits.header_kb");
  if (given.limits.keyCacheBytesMax !== keyCacheBytesMax) names.push("limits.key_cache_mb");
  return names;
}

const POLL_MS = 1000;

/** Resolves once these calls are over, or after the longest time that a call may take. */
export async function whenOver(
  calls: readonly HttpCall[],
  server: Server,
  clock: Clock,
): Promise<void> {
  const deadline = clock.monotonic() + server.runtime.limits.callMs + 10 * POLL_MS;
  while (calls.some((call) => server.callsInFlight.has(call)) && clock.monotonic() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS).unref());
  }
}
