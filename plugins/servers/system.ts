import { statfs } from "node:fs/promises";
import { program, type Services } from "../../core/plugin/index.ts";

const MB = 1_000_000;

/** Returns this process and its machine as operators see them: no secret, and no part of an address but its host. */
export async function systemJson(services: Services): Promise<object> {
  const { config, status, callsInFlight, gauges } = services;
  const { data } = config.stores;
  const disk = await statfs(data).catch(() => undefined);
  const gaugeRows = gauges.all.map((gauge) => ({ gauge, value: gauge.value() }));
  return {
    process: {
      pid: String(process.pid),
      build: program.version,
      node: process.version,
      uptime_seconds: Math.round(process.uptime()),
      memory_mb: Math.round(process.memoryUsage.rss() / MB),
      calls_in_flight: callsInFlight.size,
      uncommitted_calls: status.uncommittedCalls(),
      lost_log_lines: status.lostLogLines,
      disk_free_mb: disk ? Math.round((disk.bavail * disk.bsize) / MB) : null,
      disk_mb: disk ? Math.round((disk.blocks * disk.bsize) / MB) : null,
    },
    clocks:
      status.ledgerClockAheadMs === undefined
        ? []
        : [{ clock: "Postgres", ahead_ms: status.ledgerClockAheadMs }],
    faults: status.storeFaults.map(({ store, setting, breaks, advice }) => ({
      store,
      setting,
      breaks,
      advice,
    })),
    gauges: gaugeRows.map(({ gauge, value }) => ({
      name: gauge.name,
      value: value ?? null,
      about: gauge.help,
    })),
    config: configJson(config),
  };
}

/** The settings that hold no secret, by name. */
function configJson({ listen, admin, stores, limits, plugins, ...config }: Services["config"]) {
  const hot = typeof stores.hot === "string" ? [stores.hot] : stores.hot;
  return {
    version: config.version,
    catalogue: config.catalogue.version,
    listen: `${listen.host}:${listen.port}`,
    workers: listen.workers,
    engine: listen.engine,
    operators: admin.listen ? `${admin.listen.host}:${admin.listen.port}` : "the same address",
    hot: hot.map(hostOf).join(", "),
    ledger: hostOf(stores.ledger),
    connections: stores.connections,
    months_kept: stores.monthsKept ?? "all",
    data: stores.data,
    log: config.log.level,
    plugins: plugins.map(({ name }) => name).join(", "),
    ...Object.fromEntries(
      Object.entries(limits).map(([name, value]) => [`limits.${name}`, String(value)]),
    ),
  };
}

/** The hosts of a store: its address may have a password. */
function hostOf(address: string): string {
  return /:\/\/(?:[^/?]*@)?([^/?]*)/.exec(address)?.[1] ?? address;
}
