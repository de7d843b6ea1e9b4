import { isDeepStrictEqual } from "node:util";
import type { HttpCall } from "../http/http-call.ts";
import type { Server } from "../http/server.ts";
import type { Config } from "../plugin/config.ts";
import type { ConfigWithPlugins, PluginModule } from "../plugin/plugin.ts";
import type { Clock } from "../process/clock.ts";

/**
 * Returns the config that takes effect at a reload: settings bound to the process stay as they are.
 */
export function inForce<T extends Config>(given: T, running: Config): T {
  const { stores } = running;
  const listen = { ...running.listen, trustedProxies: given.listen.trustedProxies };
  const { headerBytesMax, keyCacheBytesMax } = running.limits;
  const limits = { ...given.limits, headerBytesMax, keyCacheBytesMax };
  const admin = { ...given.admin, listen: running.admin.listen };
  return { ...given, listen, admin, stores, limits };
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

/** The code of plugins as Node loaded it. Node loads a module once per process. */
export class LoadedCode {
  private readonly fingerprints = new Map<PluginModule, string>();

  /**
   * Returns the plugins of a config whose files have changed since they were loaded. Remembers new
   * ones.
   */
  changed({ plugins }: ConfigWithPlugins): string[] {
    const names: string[] = [];
    for (const { name, module, fingerprint } of plugins) {
      const loaded = this.fingerprints.get(module);
      if (loaded === undefined) this.fingerprints.set(module, fingerprint);
      else if (loaded !== fingerprint) names.push(`plugin ${name}`);
    }
    return names;
  }
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
