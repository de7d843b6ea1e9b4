import type { Dispatcher } from "undici";
// All of undici takes 10 MB more, for parts that the gateway never uses.
import Agent from "undici/lib/dispatcher/agent.js";
import type { Route } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type {
  Limits,
  SwitchedOff,
  Trial,
  Upstream,
  UpstreamConfig,
  Upstreams,
} from "../plugin/config.ts";
import type { LoadedUpstream, UpstreamAdapter } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import type { JsonObject } from "../process/json.ts";
import type { Log } from "../process/log.ts";
import { Breakers } from "./breakers.ts";
import { upstreamConnector } from "./connect.ts";
import { KeyPool, type PooledKey } from "./key-pool.ts";
import { KnownAddresses } from "./known-addresses.ts";
import { RetryBudget } from "./retry-budget.ts";
import { tryRoute } from "./trial.ts";

/**
 * Time beyond the limit of a call: longer than the server takes to notice a call over its limit.
 */
const DEADLINE_GRACE_MS = 10_000;

const NONE: ReadonlySet<string> = new Set();

/** An upstream for calls: its kind's adapter, its connections, its keys and its breakers. */
export class HttpUpstream implements Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly adapter: UpstreamAdapter;
  readonly dispatcher: Dispatcher;
  readonly breakers: Breakers;
  readonly pool: KeyPool;
  readonly budget = new RetryBudget();
  /** Set by `switchOff` alone. */
  off: ReadonlySet<string> = NONE;
  private readonly clock: Clock;
  /** Texts that no customer may see in its errors, the longest first. */
  readonly hidden: readonly string[];
  /** The longest wait for a connection, and for credentials. */
  readonly connectMs: number;

  constructor(
    name: string,
    config: LoadedUpstream,
    dispatcher: Dispatcher,
    connectMs: number,
    clock: Clock,
    log: Log,
  ) {
    this.name = name;
    this.config = config;
    this.adapter = config.createAdapter();
    this.hidden = [...(this.adapter.hidden?.() ?? [])].sort((a, b) => b.length - a.length);
    this.dispatcher = dispatcher;
    this.connectMs = connectMs;
    this.clock = clock;
    this.breakers = new Breakers(name, clock, log);
    this.pool = new KeyPool(this.adapter.keys ?? [], clock);
  }

  get keys(): readonly PooledKey[] {
    return this.pool.keys;
  }

  /** Returns true if an operator has switched it off for this model. */
  isOff(model: string): boolean {
    return this.off.size > 0 && (this.off.has("") || this.off.has(model));
  }

  try(route: Route, id: string): Promise<Trial> {
    const key = this.keys.find((one) => one.id === id);
    return key
      ? tryRoute(this, route, key, this.clock)
      : Promise.resolve({ served: false, reason: "there is no such key" });
  }

  speaks(protocol: Protocol): boolean {
    return this.config.protocols.has(protocol);
  }

  describe(): JsonObject {
    return this.adapter.describe();
  }
}

/** The parts of a config that upstreams need. */
interface UpstreamsConfig {
  readonly limits: Limits;
  readonly upstreams: Readonly<Record<string, LoadedUpstream>>;
}

/** All upstreams of a config, by name, and the connections to them. */
export class ConnectedUpstreams implements Upstreams {
  private readonly byName = new Map<string, HttpUpstream>();
  private readonly agents: Agent[] = [];
  readonly limits: Limits;

  constructor(
    config: UpstreamsConfig,
    clock: Clock,
    log: Log,
    addresses: KnownAddresses = new KnownAddresses(clock),
  ) {
    const { connectMs, callMs } = config.limits;
    this.limits = config.limits;
    // The deadline of a call bounds silence, and an exchange bounds that of a stream. These
    // timeouts come later: else both fire at once, and the client may get the error of a broken
    // connection instead of the time limit.
    const silenceMs = callMs + DEADLINE_GRACE_MS;
    const connect = upstreamConnector(connectMs, addresses.lookup);
    for (const [name, upstream] of Object.entries(config.upstreams)) {
      const agent = new Agent({
        connections: upstream.connections,
        pipelining: 1,
        connect,
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        keepAliveTimeout: 30_000,
        // The same limit as for a client's headers.
        maxHeaderSize: 65_536,
      });
      this.agents.push(agent);
      this.byName.set(name, new HttpUpstream(name, upstream, agent, connectMs, clock, log));
    }
  }

  get(name: string): HttpUpstream | undefined {
    return this.byName.get(name);
  }

  all(): Iterable<HttpUpstream> {
    return this.byName.values();
  }

  switchOff(list: readonly SwitchedOff[]): void {
    for (const upstream of this.all()) {
      const own = list.filter((each) => each.upstream === upstream.name);
      upstream.off = new Set(own.filter(({ key }) => key === "").map(({ model }) => model));
      for (const key of upstream.keys) key.isOff = own.some((each) => each.key === key.id);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.destroy()));
  }
}
