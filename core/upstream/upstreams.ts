import type { Dispatcher } from "undici";
// All of undici takes 10 MB more, for parts that the gateway never uses.
import Agent from "undici/lib/dispatcher/agent.js";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { Limits, Upstream, UpstreamConfig, Upstreams } from "../plugin/config.ts";
import type { LoadedUpstream, UpstreamAdapter } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import type { JsonObject } from "../process/json.ts";
import type { Log } from "../process/log.ts";
import { Breaker } from "./breaker.ts";
import { upstreamConnector } from "./connect.ts";
import { KnownAddresses } from "./known-addresses.ts";

/**
 * Time beyond the limit of a call: longer than the server takes to notice a call over its limit.
 */
const DEADLINE_GRACE_MS = 10_000;

const OPENED = "an upstream fails; it gets no calls except for an occasional probe";

/** An upstream for calls: its kind's adapter, its connections, and its breaker. */
export class HttpUpstream implements Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly adapter: UpstreamAdapter;
  readonly dispatcher: Dispatcher;
  readonly breaker: Breaker;
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
    this.breaker = new Breaker(clock, (state, reason) => {
      if (state === "open") log.warn({ upstream: name, reason }, OPENED);
      else log.info({ upstream: name }, "an upstream works again and gets calls");
    });
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

  async close(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.destroy()));
  }
}
