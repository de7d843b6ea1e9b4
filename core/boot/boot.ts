import { openAccounts } from "../accounts/index.ts";
import { endpoints } from "../catalogue/endpoint.ts";
import { notOffered } from "../config/catalogue-review.ts";
import { dearCalls } from "../config/dear-calls.ts";
import type { GatewayConfig } from "../config/load.ts";
import { BodyBudget, budgetLimits } from "../http/body-budget.ts";
import { OwnBodyThreads } from "../http/body-threads.ts";
import { logCall } from "../http/call-log.ts";
import { requiredFields, withDefaultSteps } from "../http/default-steps.ts";
import { addHealthRoutes } from "../http/health.ts";
import { HttpCallsInFlight } from "../http/in-flight.ts";
import { LongBodies } from "../http/long-bodies.ts";
import { addModelRoutes } from "../http/models.ts";
import { Pipeline } from "../http/pipeline.ts";
import type { Runtime } from "../http/runtime.ts";
import { Server } from "../http/server.ts";
import { UnreadReplies } from "../http/unread-replies.ts";
import { openListener } from "../listener/index.ts";
import { Backlog } from "../money/backlog.ts";
import { Committer } from "../money/committer.ts";
import type { HoldStoreHealth } from "../money/hold-store.ts";
import { archiveOf } from "../money/ledger/archive.ts";
import { Corrections } from "../money/ledger/corrections.ts";
import { operationsOf } from "../money/operations.ts";
import { Pace } from "../money/pace.ts";
import { stopMoney } from "../money/stop.ts";
import { StoredWallets } from "../money/wallets.ts";
import type { EndedCall } from "../plugin/call.ts";
import { exactNames, pathsOf } from "../plugin/model-names.ts";
import { httpAddress } from "../plugin/public-host.ts";
import { Router } from "../plugin/router.ts";
import type { Services } from "../plugin/services.ts";
import type { Slots } from "../plugin/slot.ts";
import { announced } from "../process/announced.ts";
import { TrustedProxies } from "../process/client-address.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import type { LineLog } from "../process/log.ts";
import { noWorkers, type Workers } from "../process/workers.ts";
import { HttpImageFetcher } from "../upstream/fetch-image.ts";
import { KnownAddresses } from "../upstream/known-addresses.ts";
import { ConnectedUpstreams } from "../upstream/upstreams.ts";
import { RefusedCallsCounter } from "../usage/refused-calls-counter.ts";
import { usageBooksOf } from "../usage/usage-books.ts";
import { wires } from "../wire/wires.ts";
import { Clocks } from "./clocks.ts";
import { warnOfExposure } from "./exposure.ts";
import { PluginRunner, type Running } from "./plugins.ts";
import { changedSettings, inForce, LoadedCode } from "./reload.ts";
import { SlotBoard } from "./slots.ts";
import { StoreSettings } from "./store-settings.ts";
import { createStores, OUTBOX_ENTRIES_MAX } from "./stores.ts";
import { whenOver } from "./when-over.ts";

/**
 * The batch is large enough for the ledger's best rate. The pause makes batches worth a transaction
 * under light load.
 */
const COMMITTER = { batchEntries: 1000, lingerMs: 250 };

const X_FORWARDED_FOR_IGNORED =
  "ignores x-forwarded-for of an address that is not in listen.trusted_proxies; if it is your proxy, add it, or all of " +
  "its customers share the limits of one address";

/** A running gateway. */
export interface Gateway {
  readonly address: string;
  readonly services: Services;
  /** Every route, for tests that walk them. */
  readonly router: Router;
  /**
   * Serves new calls with another config. Resolves with the names of settings that change only
   * after a restart: those bound to the process, and plugins whose files have changed. If it
   * rejects, nothing has changed.
   */
  reload(config: GatewayConfig): Promise<readonly string[]>;
  /** Waits for calls in flight, commits them, and stops. */
  stop(): Promise<void>;
}

/** Starts a gateway: stores first, then plugins, then the listener. */
export async function boot(
  first: GatewayConfig,
  log: LineLog,
  clock: Clock = systemClock,
  otherWorkers: Workers = noWorkers,
): Promise<Gateway> {
  let config = first;
  const addresses = new KnownAddresses(clock);
  let upstreams = new ConnectedUpstreams(config, clock, log, addresses);
  // First: the simulated provider also loads uWebSockets.js, which reads its limits once a process.
  const { engine } = config.listen;
  const { headerBytesMax } = config.limits;
  const sharesPort = config.listen.workers > 1;
  const listener = await openListener({ engine, headerBytesMax, shared: sharesPort, log });
  const operators = config.admin.listen;
  const operatorListener =
    operators && (await openListener({ engine, headerBytesMax, shared: sharesPort }));
  const stores = await createStores(config, clock, log);
  const { holdStore, ledger, database, loads, rateLimiter, balancesLock } = stores;
  await announced(log, "the ledger", ledger.start());
  // The committer starts first. The hold store is ready only once the posts of dead gateways are
  // committed, and if all gateways are starting, no other process commits them.
  const backlog = new Backlog({ holdStore, entriesMax: OUTBOX_ENTRIES_MAX });
  const committer = new Committer({ holdStore, ledger, log, backlog, ...COMMITTER });
  committer.start();
  const wallets = new StoredWallets({ holdStore, ledger });
  await announced(log, "the hold store", holdStore.start(), () => reasonOf(holdStore.health()));
  const differenceMsMax = config.limits.clockDifferenceMs;
  const clocks = new Clocks({ clock, readers: stores.clockReaders, differenceMsMax, log });
  const storeSettings = new StoreSettings(stores.faultReaders, log);
  try {
    await announced(log, "the settings of the stores", storeSettings.start());
    await announced(log, "the balances of the ledger", balancesLock.start());
    await announced(log, "the clocks of the stores", clocks.start());
  } catch (error) {
    await stopStores();
    throw error;
  }
  await announced(log, "movements that the hold store has not applied", wallets.start());
  const board = new SlotBoard(
    exactNames(() => config.catalogue),
    {
      wallets,
      operations: operationsOf({ wallets, holdStore, ledger, archive: archiveOf(database) }),
      corrections: new Corrections(wallets, database),
    },
  );
  const coreSlots = board.slotsOf(undefined);
  const { keyCacheBytesMax } = config.limits;
  const shared = { database, loads, holdStore, clock, log };
  const opened = openAccounts({ ...shared, slots: coreSlots, keyCacheBytesMax });
  const { accounts, keys, operatorActions, keyChanges } = opened;
  await announced(log, "the form of keys", opened.start());
  // No other process can change keys in an embedded ledger.
  if (config.stores.ledger !== "embedded") keyChanges.start();
  const pace = new Pace({ backlog, log });
  const bodyThreads = new OwnBodyThreads(log);
  const unread = new UnreadReplies(config.limits.unreadBytesMax, log);
  let callsInFlight = new HttpCallsInFlight();
  let running: readonly Running[] = [];
  const servicesOf = (slots: Slots): Services => ({
    ...slots,
    get config() {
      return config;
    },
    get catalogue() {
      return config.catalogue;
    },
    get upstreams() {
      return upstreams;
    },
    get callsInFlight() {
      return callsInFlight;
    },
    get clockDifferences() {
      return clocks.differences;
    },
    get storeFaults() {
      return storeSettings.faults;
    },
    get commits() {
      return committer.status;
    },
    get lostLogLines() {
      return log.lostLines();
    },
    get commands() {
      return running.flatMap(({ plugin }) =>
        (plugin.commands ?? []).map((command) => ({ plugin: plugin.name, command })),
      );
    },
    clock,
    log,
    balances: (accountId) => wallets.balances(accountId),
    stores: {
      holdStoreHealth: () => holdStore.health(),
      uncommittedCalls: () => holdStore.uncommittedCalls(),
      unsyncedMs: () => holdStore.unsyncedMs(),
      ledgerWentBack: () => holdStore.ledgerWentBack(),
      pingLedger: (timeoutMs) => ledger.ping(timeoutMs),
    },
    usage: usageBooksOf(database),
    database,
    accounts,
    operatorActions,
    pace,
    keys,
    rateLimiter,
    unreadReplies: unread,
    workers: otherWorkers,
    bodyThreads,
    wires,
    imageFetcher: new HttpImageFetcher(() => config.images),
  });
  const services = servicesOf(coreSlots);
  const bodies = new BodyBudget(budgetLimits(config.limits), clock);
  const longBodies = new LongBodies(bodyThreads, () => services.bodyMeasures.all);
  const runner = new PluginRunner(board, servicesOf, database, log);
  const code = new LoadedCode();
  code.changed(config);
  running = await runner.start(config, []);
  runner.serve();
  const refused = new RefusedCallsCounter({ database, clock, log });
  refused.start();
  const refusal = () => pace.refusal();
  const server = new Server(listener, runtimeOf(running), onEnded, refusal, operatorListener);
  callsInFlight = server.callsInFlight;
  function onEnded(call: EndedCall): void {
    logCall(call, clock, log);
    refused.count(call);
  }

  function runtimeOf(plugins: readonly Running[]): Runtime {
    const all = new Router();
    for (const endpoint of endpoints) {
      all.add({ method: "POST", path: endpoint.path, access: "call", endpoint });
    }
    const isTranslated = config.plugins.some(({ module }) => module.sets?.includes("upstream"));
    addModelRoutes(
      all,
      () => config.catalogue,
      (model) => pathsOf(model, upstreams, isTranslated),
    );
    for (const { plugin } of plugins) plugin.routes?.(all);
    const isStopping = () => server.isStopping;
    const operatorRouter = operators && all.part(true);
    const router = operators ? all.part(false) : all;
    addHealthRoutes(router, services, { hasDetails: !operatorRouter, isStopping });
    if (operatorRouter) addHealthRoutes(operatorRouter, services, { hasDetails: true, isStopping });
    const pipeline = new Pipeline([...withDefaultSteps(plugins, services), pace]);
    const required = requiredFields(config);
    const proxies = new TrustedProxies(config.listen.trustedProxies, (peer) =>
      log.warn({ peer }, X_FORWARDED_FOR_IGNORED),
    );
    const { limits } = config;
    const shared = { upstreams, clock, log, limits, proxies, bodies, longBodies, unread };
    return { ...shared, pipeline, router, operatorRouter, required };
  }
  const { host, port } = config.listen;
  if (operators) await server.listenForOperators(operators.host, operators.port, sharesPort);
  const listening = await server.listen(host, port, sharesPort);
  const address = httpAddress(host, listening);
  for (const { plugin } of running) await plugin.listening?.(address);
  const { models, version } = config.catalogue;
  const adminAddress = operators && httpAddress(operators.host, operators.port);
  const offered = { models: models.length, catalogue_version: version };
  log.info({ address, admin_address: adminAddress, ...offered }, "listening");
  warn(config, log);
  warnOfExposure(config, log);

  async function reload(given: GatewayConfig): Promise<readonly string[]> {
    const before = { config, upstreams, running };
    config = inForce(given, before.config);
    upstreams = new ConnectedUpstreams(config, clock, log, addresses);
    let started: readonly Running[] = before.running;
    try {
      started = running = await runner.start(config, before.running);
      server.runtime = runtimeOf(running);
    } catch (error) {
      await runner.giveUp(started, before.running);
      await upstreams.close();
      ({ config, upstreams, running } = before);
      throw error;
    }
    runner.serve();
    bodies.limits = budgetLimits(config.limits);
    unread.bytesMax = config.limits.unreadBytesMax;
    log.setLevel(config.log.level);
    warn(config, log);
    const made = running.filter((entry) => !before.running.includes(entry));
    for (const entry of made) await runner.listening(entry, address);
    const stopped = before.running.filter((entry) => !running.includes(entry));
    // Calls in flight keep the plugins and connections of the old config.
    const old = [...server.callsInFlight];
    void whenOver(old, server, clock).then(async () => {
      await runner.stop(stopped);
      await before.upstreams.close();
    });
    return [...changedSettings(given, before.config), ...code.changed(given)];
  }

  async function stopStores(): Promise<void> {
    await storeSettings.stop();
    await stopMoney({ wallets, committer, holdStore, log });
    await balancesLock.stop(holdStore.uncommittedCalls() === 0);
    await ledger.stop();
  }

  let lastReload: Promise<unknown> = Promise.resolve();
  return {
    address,
    services,
    get router() {
      return server.runtime.router;
    },

    reload(next) {
      // Reloads run one after the other: each builds on the result of the one before.
      const result = lastReload.then(() => reload(next));
      lastReload = result.catch(() => undefined);
      return result;
    },

    async stop() {
      await lastReload;
      await pace.stop();
      await server.drain(config.limits);
      server.close();
      await bodyThreads.stop();
      await runner.stop(running);
      await refused.stop();
      await keyChanges.stop();
      clocks.stop();
      await stopStores();
      await upstreams.close();
    },
  };
}

function reasonOf(health: HoldStoreHealth): string | undefined {
  return health.kind === "ok" ? undefined : health.reason;
}

/** Logs settings that an operator may have made by mistake. */
function warn({ unbilled, catalogue }: GatewayConfig, log: LineLog): void {
  if (unbilled) log.warn("unbilled: true in the config; calls are neither held nor charged");
  const missing = notOffered(catalogue);
  if (missing) log.warn(missing);
  const dear = dearCalls(catalogue);
  if (dear) log.warn(dear);
}
