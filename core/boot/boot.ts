import { openAccounts } from "../accounts/index.ts";
import type { GatewayConfig } from "../config/load.ts";
import { noCustomers } from "../contract/customers.ts";
import { endpoints } from "../contract/endpoint.ts";
import { closedGates } from "../contract/guards.ts";
import { exactNames } from "../contract/model-names.ts";
import type { Plugin } from "../contract/plugin.ts";
import { httpAddress } from "../contract/routes/address.ts";
import { Router } from "../contract/routes/router.ts";
import type { Services } from "../contract/services.ts";
import type { PluginDatabase } from "../database/plugin-database.ts";
import { logCall } from "../http/call-log.ts";
import { addHealthRoutes } from "../http/health.ts";
import type { HttpCall } from "../http/http-call.ts";
import { OpenCalls } from "../http/in-flight.ts";
import { addModelRoutes } from "../http/models.ts";
import { Pipeline } from "../http/pipeline.ts";
import type { Runtime } from "../http/runtime.ts";
import { Server } from "../http/server.ts";
import { Drainer } from "../money/committer.ts";
import { usageBooksOf } from "../money/ledger/usage-books.ts";
import { StoredWallets } from "../money/wallets.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import type { LineLog, Log } from "../process/log.ts";
import { HttpImageFetcher } from "../upstream/fetch-image.ts";
import { ConnectedUpstreams } from "../upstream/upstreams.ts";
import { wires } from "../wire/index.ts";
import { preparePlugin } from "./prepare-plugin.ts";
import { createStores } from "./stores.ts";

/** Large enough for the ledger's best rate, and a pause that makes batches of a light load worth a transaction. */
const SETTLEMENT = { batchEntries: 1000, lingerMs: 250 };
const STOP_DRAINING_MS = 10_000;

/** A plugin that runs, with the options it was made with. */
interface Running {
  readonly name: string;
  readonly options: string;
  readonly plugin: Plugin;
}

/** A running gateway. */
export interface Gateway {
  readonly address: string;
  readonly services: Services;
  /** Every route, for tests that walk them. */
  readonly router: Router;
  /** Serves new calls by another config. What is bound to the process (address, stores) stays as it is. */
  reload(config: GatewayConfig): Promise<void>;
  /** Lets open calls finish, settles them, and stops. */
  stop(): Promise<void>;
}

/** Starts everything that a config names: stores first, then plugins, then the listener. */
export async function boot(
  first: GatewayConfig,
  log: LineLog,
  clock: Clock = systemClock,
): Promise<Gateway> {
  let config = first;
  let upstreams = new ConnectedUpstreams(config, clock);
  const { hot, ledger, database, rateLimiter } = await createStores(config, clock, log);
  await ledger.start();
  // The drainer comes first: the hot store is ready once what dead gateways have left is settled, and where all
  // of them are starting there is nobody else to settle it.
  const drainer = new Drainer({ hot, ledger, log, ...SETTLEMENT });
  drainer.start();
  await hot.start();
  const wallets = new StoredWallets({ hot, ledger });
  await wallets.start();
  const { accounts, keys, operatorActions, keyChanges } = openAccounts(database, hot, clock, log);
  // An embedded ledger belongs to this process alone.
  if (config.stores.ledger !== "embedded") keyChanges.start();
  let openCalls = new OpenCalls();
  let running: readonly Running[] = [];

  const services: Services = {
    get config() {
      return config;
    },
    get catalogue() {
      return config.catalogue;
    },
    get upstreams() {
      return upstreams;
    },
    get openCalls() {
      return openCalls;
    },
    get commands() {
      return running.flatMap(({ plugin }) =>
        (plugin.commands ?? []).map((command) => ({ plugin: plugin.name, command })),
      );
    },
    clock,
    log,
    ledger,
    usage: usageBooksOf(database),
    database,
    accounts,
    operatorActions,
    hot,
    wallets,
    keys,
    rateLimiter,
    gates: closedGates(),
    customers: noCustomers(),
    modelNames: exactNames(() => config.catalogue),
    wires,
    imageFetcher: (options) => new HttpImageFetcher(options),
  };

  running = await startPlugins(config, services, database, []);
  const server = new Server(runtimeOf(running), (call) => logCall(call, clock, log));
  openCalls = server.openCalls;

  function runtimeOf(plugins: readonly Running[]): Runtime {
    const router = new Router();
    for (const endpoint of endpoints) {
      router.add({ method: "POST", path: endpoint.path, access: "call", endpoint });
    }
    addModelRoutes(router, () => config.catalogue);
    addHealthRoutes(router, services);
    for (const { plugin } of plugins) plugin.routes?.(router);
    const pipeline = new Pipeline(plugins.map(({ plugin }) => plugin));
    return { pipeline, router, upstreams, clock, log, limits: config.limits };
  }

  const { host, port, workers } = config.listen;
  const listening = await server.listen(host, port, workers > 1);
  const address = httpAddress(host, listening);
  for (const { plugin } of running) await plugin.listening?.(address);
  log.info({ address, models: config.catalogue.models.length }, "listening");

  return {
    address,
    services,
    get router() {
      return server.runtime.router;
    },

    async reload(next) {
      const before = { config, upstreams, running };
      let runtime: Runtime;
      config = next;
      upstreams = new ConnectedUpstreams(next, clock);
      try {
        running = await startPlugins(next, services, database, before.running);
        // A route or a command that is there twice is found here.
        runtime = runtimeOf(running);
      } catch (error) {
        const started = running.filter((entry) => !before.running.includes(entry));
        await stopPlugins(started, log);
        await upstreams.close();
        ({ config, upstreams, running } = before);
        throw error;
      }
      server.runtime = runtime;
      const stopped = before.running.filter((entry) => !running.includes(entry));
      // Calls that began under the old config go on with its plugins and its connections.
      const old = [...server.openCalls];
      void whenOver(old, server, clock).then(async () => {
        await stopPlugins(stopped, log);
        await before.upstreams.close();
      });
    },

    async stop() {
      await server.drain(config.limits.drainMs);
      server.close();
      await stopPlugins(running, log);
      await keyChanges.stop();
      await drainer.stop(STOP_DRAINING_MS);
      await hot.stop();
      await ledger.stop();
      await upstreams.close();
    },
  };
}

/** Makes and starts the plugins of a config; those whose options have not changed go on as they are. */
async function startPlugins(
  config: GatewayConfig,
  services: Services,
  database: PluginDatabase,
  before: readonly Running[],
): Promise<Running[]> {
  const running: Running[] = [];
  const started: Running[] = [];
  try {
    for (const { name, module, options } of config.plugins) {
      const written = JSON.stringify(options ?? null);
      const kept = before.find((entry) => entry.name === name && entry.options === written);
      if (kept) {
        running.push(kept);
        continue;
      }
      const entry = { name, options: written, plugin: module.default(services, options) };
      await preparePlugin(
        entry.plugin,
        running.map(({ plugin }) => plugin),
        database,
      );
      await entry.plugin.start?.();
      started.push(entry);
      running.push(entry);
    }
  } catch (error) {
    await stopPlugins(started, services.log);
    throw error;
  }
  return running;
}

async function stopPlugins(plugins: readonly Running[], log: Log): Promise<void> {
  for (const { name, plugin } of [...plugins].reverse()) {
    try {
      await plugin.stop?.();
    } catch (error) {
      log.error({ err: error, plugin: name }, "a plugin did not stop cleanly");
    }
  }
}

const POLL_MS = 1000;

async function whenOver(calls: readonly HttpCall[], server: Server, clock: Clock): Promise<void> {
  const deadline = clock.monotonic() + server.runtime.limits.callMs + 10 * POLL_MS;
  while (calls.some((call) => server.openCalls.has(call)) && clock.monotonic() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS).unref());
  }
}
