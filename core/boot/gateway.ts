import { type AccountsRoom, openAccounts } from "../accounts/index.ts";
import { LongBodies } from "../body/read-body.ts";
import { BodyBudget } from "../body/receive.ts";
import { BodyThreads } from "../body/threads.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { endpoints } from "../catalogue/endpoint.ts";
import type { GatewayConfig } from "../config/load.ts";
import { configWarnings } from "../config/plugins.ts";
import { logCall } from "../http/call-log.ts";
import { Cors } from "../http/cors.ts";
import { requiredFields, withDefaultSteps } from "../http/default-steps.ts";
import { addHealthRoutes } from "../http/health.ts";
import { addModelRoutes } from "../http/models.ts";
import { Pipeline } from "../http/pipeline.ts";
import type { Runtime } from "../http/runtime.ts";
import { Server } from "../http/server.ts";
import { UnreadReplies } from "../http/unread-replies.ts";
import { type Listener, openListener } from "../listener/index.ts";
import { Drifts } from "../money/drift.ts";
import { archiveOf } from "../money/ledger/archive.ts";
import { Corrections } from "../money/ledger/corrections.ts";
import { driftBooksOf } from "../money/ledger/drift-books.ts";
import { operationsOf } from "../money/operations.ts";
import { Pace } from "../money/pace.ts";
import { exactNames, pathsOf } from "../plugin/model-names.ts";
import { httpAddress } from "../plugin/public-host.ts";
import { Router } from "../plugin/router.ts";
import type { GatewayStatus, Services } from "../plugin/services.ts";
import type { Slots } from "../plugin/slot.ts";
import { announced } from "../process/announced.ts";
import { TrustedProxies } from "../process/client-address.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import type { LineLog } from "../process/log.ts";
import { noWorkers, type Workers } from "../process/workers.ts";
import { HttpImageFetcher } from "../upstream/fetch-image.ts";
import { KnownAddresses } from "../upstream/known-addresses.ts";
import { ConnectedUpstreams } from "../upstream/upstreams.ts";
import { RefusedCallsCounter } from "../usage/refused-calls.ts";
import { usageBooksOf } from "../usage/usage-books.ts";
import { wires } from "../wire/wires.ts";
import { ConfigReloads, type LoadConfig } from "./config-reloads.ts";
import { warnOfExposure } from "./exposure.ts";
import { Money } from "./money.ts";
import {
  changedSettings,
  inForce,
  PluginRunner,
  type Running,
  takesPartInCalls,
  whenOver,
} from "./plugins.ts";
import { SlotBoard } from "./slots.ts";

const X_FORWARDED_FOR_IGNORED =
  "ignores x-forwarded-for of an address that is not in listen.trusted_proxies; if it is your proxy, add it, or all of " +
  "its customers share the limits of one address";

interface Parts {
  readonly log: LineLog;
  readonly clock: Clock;
  readonly workers: Workers;
  readonly load: LoadConfig;
  readonly addresses: KnownAddresses;
  readonly upstreams: ConnectedUpstreams;
  readonly listener: Listener;
  readonly operatorListener: Listener | undefined;
  readonly money: Money;
}

/** A running gateway: stores first, then plugins, then the listener. */
export class Gateway {
  /** As core sees them. */
  readonly services: Services;
  private readonly accounts: AccountsRoom;
  private readonly pace: Pace;
  private readonly bodyThreads: BodyThreads;
  private readonly longBodies: LongBodies;
  private readonly bodies: BodyBudget;
  private readonly unread: UnreadReplies;
  private readonly refused: RefusedCallsCounter;
  private readonly runner: PluginRunner;
  private readonly server: Server;
  /** For signals; plugins have it as a service. */
  readonly reloads: ConfigReloads;
  private upstreams: ConnectedUpstreams;
  private running: readonly Running[] = [];
  /** The address at which it takes calls: `http://127.0.0.1:8080`. Set here alone. */
  address = "";
  private lastReload: Promise<unknown> = Promise.resolve();
  /** Plugins of earlier configs that calls in flight still use. */
  private readonly replaced = new Set<Running>();
  /** Resolves once the other plugins of earlier configs have stopped. */
  private stopping: Promise<unknown> = Promise.resolve();

  private constructor(
    private config: GatewayConfig,
    private readonly parts: Parts,
  ) {
    const { log, clock, money, load } = parts;
    const { database, loads, holdStore, ledger } = money.stores;
    const { wallets } = money;
    this.upstreams = parts.upstreams;
    const board = new SlotBoard(
      exactNames(() => this.catalogue),
      {
        wallets,
        operations: operationsOf({
          ...{ wallets, holdStore, ledger },
          archive: archiveOf(database),
          drifts: new Drifts(holdStore, ledger, driftBooksOf(database)),
        }),
        corrections: new Corrections(wallets, database),
      },
    );
    const slots = board.slotsOf(undefined);
    const { keyCacheBytesMax: cacheBytesMax, unreadBytesMax } = config.limits;
    const shared = { database, loads, holdStore, clock, log };
    this.accounts = openAccounts({ ...shared, slots, cacheBytesMax });
    this.pace = new Pace({ backlog: money.backlog, log });
    this.bodyThreads = new BodyThreads(log);
    this.unread = new UnreadReplies(unreadBytesMax, log);
    this.bodies = new BodyBudget(config.limits, clock);
    this.refused = new RefusedCallsCounter({ database, clock, log });
    this.reloads = new ConfigReloads({
      ...{ load, clock, log },
      config: () => this.config,
      replace: (next) => this.reload(next),
    });
    this.services = this.servicesOf(slots);
    this.longBodies = new LongBodies(this.bodyThreads, () => this.services.bodyMeasures.all);
    this.runner = new PluginRunner(board, (own) => this.servicesOf(own), database, log);
    const { listener, operatorListener } = parts;
    this.server = new Server({
      listener,
      operatorListener,
      log,
      clock,
      refusal: () => this.pace.refusal(),
      onEnded: (call) => {
        logCall(call, clock, log);
        this.refused.count(call);
      },
    });
  }

  static async start(
    config: GatewayConfig,
    log: LineLog,
    clock: Clock = systemClock,
    workers: Workers = noWorkers,
    load: LoadConfig = async () => ({ ok: true, config }),
  ): Promise<Gateway> {
    const addresses = new KnownAddresses(clock);
    const upstreams = new ConnectedUpstreams(config, clock, log, addresses);
    // First: the simulated provider also loads uWebSockets.js, which reads its limits once a process.
    const { engine } = config.listen;
    const { headerBytesMax } = config.limits;
    const options = { engine, headerBytesMax, shared: config.listen.workers > 1 };
    const listener = await openListener({ ...options, log });
    const operatorListener = config.admin.listen && (await openListener(options));
    const money = await Money.start(config, clock, log);
    const shared = { log, clock, workers, load };
    const parts = { ...shared, addresses, upstreams, listener, operatorListener, money };
    const gateway = new Gateway(config, parts);
    await gateway.start();
    return gateway;
  }

  private get catalogue(): Catalogue {
    return this.config.catalogue.at(this.parts.clock.now());
  }

  /** Every route, for tests that walk them. */
  get router(): Router {
    return this.server.runtime.router;
  }

  /**
   * Serves new calls with another config. Resolves with the names of settings that change only after a restart. If it
   * rejects, nothing has changed. Reloads run one after the other: each builds on the result of the one before.
   */
  reload(config: GatewayConfig): Promise<readonly string[]> {
    const result = this.lastReload.then(() => this.replace(config));
    this.lastReload = result.catch(() => undefined);
    return result;
  }

  /** Waits for calls in flight, commits them, and stops. */
  async stop(): Promise<void> {
    await this.lastReload;
    await this.pace.stop();
    await this.server.drain(this.config.limits);
    this.server.close();
    await this.bodyThreads.stop();
    const replaced = [...this.replaced];
    this.replaced.clear();
    await this.stopping;
    await this.runner.stop([...replaced, ...this.running]);
    await this.refused.stop();
    await this.accounts.keyChanges.stop();
    await this.parts.money.stop();
    await this.upstreams.close();
  }

  private async start(): Promise<void> {
    const { config, server } = this;
    const { log } = this.parts;
    await announced(log, "the form of keys", this.accounts.keys.start());
    // No other process can change keys in an embedded ledger.
    if (config.stores.ledger !== "embedded") this.accounts.keyChanges.start();
    this.running = await this.runner.start(config, []);
    this.runner.serve();
    this.refused.start();
    server.runtime = this.runtime();
    const { host, port } = config.listen;
    const operators = config.admin.listen;
    if (operators) await server.listenForOperators(operators.host, operators.port);
    const address = httpAddress(host, await server.listen(host, port));
    this.address = address;
    for (const { plugin } of this.running) await plugin.listening?.(address);
    const { models, version } = config.catalogue;
    const adminAddress = operators && httpAddress(operators.host, operators.port);
    const offered = { models: models.length, catalogue_version: version };
    const at = { address, admin_address: adminAddress, listener: server.engine };
    log.info({ ...at, ...offered }, "listening");
    warn(config, log);
    warnOfExposure(config, log);
  }

  private async replace(given: GatewayConfig): Promise<readonly string[]> {
    const { runner, server } = this;
    const { clock, log, addresses } = this.parts;
    const { config, upstreams, running } = this;
    this.config = inForce(given, config);
    this.upstreams = new ConnectedUpstreams(this.config, clock, log, addresses);
    let started = running;
    try {
      started = this.running = await runner.start(this.config, running);
      server.runtime = this.runtime();
    } catch (error) {
      await runner.giveUp(started, running);
      await this.upstreams.close();
      Object.assign(this, { config, upstreams, running });
      throw error;
    }
    runner.serve();
    const { limits } = this.config;
    this.bodies.limits = limits;
    this.unread.bytesMax = limits.unreadBytesMax;
    log.setLevel(this.config.log.level);
    warn(this.config, log);
    const made = started.filter((entry) => !running.includes(entry));
    for (const entry of made) await runner.listening(entry, this.address);
    const stopped = running.filter((entry) => !started.includes(entry));
    // Calls in flight keep the plugins and connections of the old config. The tasks of others must not go on with it.
    const idle = stopped.filter(({ plugin }) => !takesPartInCalls(plugin));
    this.stopping = Promise.all([this.stopping, runner.stop(idle)]);
    const busy = stopped.filter((entry) => !idle.includes(entry));
    for (const entry of busy) this.replaced.add(entry);
    void whenOver([...server.callsInFlight], server, clock).then(async () => {
      await runner.stop(busy.filter((entry) => this.replaced.delete(entry)));
      await upstreams.close();
    });
    return changedSettings(given, config);
  }

  private runtime(): Runtime {
    const { config, running, upstreams, services, bodies, longBodies, unread } = this;
    const { clock, log } = this.parts;
    const all = new Router();
    for (const endpoint of endpoints) {
      all.addRoute({ method: "POST", path: endpoint.path, access: "call", endpoint });
    }
    const isTranslated = config.plugins.some(({ module }) => module.sets?.includes("upstream"));
    addModelRoutes(
      all,
      () => this.catalogue,
      (model) => pathsOf(model, this.upstreams, isTranslated),
    );
    for (const { plugin } of running) plugin.routes?.(all);
    const isSplit = config.admin.listen !== undefined;
    const operatorRouter = isSplit ? all.part(true) : undefined;
    const router = isSplit ? all.part(false) : all;
    addHealthRoutes(router, services, { hasDetails: !operatorRouter });
    if (operatorRouter) addHealthRoutes(operatorRouter, services, { hasDetails: true });
    const pipeline = new Pipeline([...withDefaultSteps(running, services), this.pace]);
    const required = requiredFields(config);
    const proxies = new TrustedProxies(config.listen.trustedProxies, (peer) =>
      log.warn({ peer }, X_FORWARDED_FOR_IGNORED),
    );
    const { limits, headers } = config;
    const cors = new Cors(headers.corsOrigins);
    const shared = { upstreams, clock, log, limits, proxies, cors, bodies, longBodies, unread };
    return { ...shared, pipeline, router, operatorRouter, required };
  }

  private status(): GatewayStatus {
    const gateway = this;
    const { pace, unread } = this;
    const { log, money } = this.parts;
    const { committer, storeSettings } = money;
    const { holdStore, ledger, database } = money.stores;
    return {
      schema: () => database.schema(),
      holdStoreHealth: () => holdStore.health(),
      uncommittedCalls: () => holdStore.uncommittedCalls(),
      unsyncedMs: () => holdStore.unsyncedMs(),
      ledgerWentBack: () => holdStore.ledgerWentBack(),
      pingLedger: (timeoutMs) => ledger.ping(timeoutMs),
      pace,
      unreadReplies: unread,
      get isStopping() {
        return gateway.server.isStopping;
      },
      get commits() {
        return committer.status;
      },
      get ledgerClockAheadMs() {
        return money.stores.ledgerClock?.aheadMs;
      },
      get storeFaults() {
        return storeSettings.faults;
      },
      get lostLogLines() {
        return log.lostLines();
      },
    };
  }

  private servicesOf(slots: Slots): Services {
    const gateway = this;
    const { accounts } = this;
    const { log, clock, money, workers } = this.parts;
    const { wallets } = money;
    const { database, rateLimiter } = money.stores;
    return {
      ...slots,
      get config() {
        return gateway.config;
      },
      get catalogue() {
        return gateway.catalogue;
      },
      get upstreams() {
        return gateway.upstreams;
      },
      get callsInFlight() {
        return gateway.server.callsInFlight;
      },
      get commands() {
        return gateway.running.flatMap(({ plugin }) =>
          (plugin.commands ?? []).map((command) => ({ plugin: plugin.name, command })),
        );
      },
      clock,
      log,
      balances: (accountId) => wallets.balances(accountId),
      purse: (accountId, name) => wallets.purse(accountId, name),
      status: this.status(),
      usage: usageBooksOf(database),
      database,
      accounts: accounts.accounts,
      operatorActions: accounts.operatorActions,
      keys: accounts.keys,
      rateLimiter,
      reloads: this.reloads,
      workers,
      bodyThreads: this.bodyThreads,
      newThreads: (limits) => new BodyThreads(log, limits),
      wires,
      imageFetcher: new HttpImageFetcher(() => this.config.images),
    };
  }
}

function warn(config: GatewayConfig, log: LineLog): void {
  if (config.unbilled) log.warn("unbilled: true in the config; calls are neither held nor charged");
  for (const line of configWarnings(config)) log.warn(line);
}
