import type { Dispatcher } from "undici";
// The library as a whole takes 10 MB more, for parts that a gateway never asks for.
import Agent from "undici/lib/dispatcher/agent.js";
import type { Limits, UpstreamConfig } from "../contract/config.ts";
import type { Protocol } from "../contract/protocol.ts";
import type { Upstream, Upstreams } from "../contract/upstreams.ts";
import type { Clock } from "../process/clock.ts";
import type { JsonObject } from "../process/json.ts";
import { Breaker } from "./breaker.ts";
import type { LoadedUpstream, UpstreamAdapter } from "./kinds/kind.ts";

/** More than the server needs to notice that a call has lasted too long. */
const DEADLINE_GRACE_MS = 10_000;

/** An upstream as calls need it: its kind's adapter, its connections, and its breaker. */
export class HttpUpstream implements Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly adapter: UpstreamAdapter;
  readonly dispatcher: Dispatcher;
  readonly breaker: Breaker;
  /** The longest wait for a connection, and for credentials. */
  readonly connectMs: number;

  constructor(
    name: string,
    config: LoadedUpstream,
    dispatcher: Dispatcher,
    connectMs: number,
    clock: Clock,
  ) {
    this.name = name;
    this.config = config;
    this.adapter = config.createAdapter();
    this.dispatcher = dispatcher;
    this.connectMs = connectMs;
    this.breaker = new Breaker(clock);
  }

  speaks(protocol: Protocol): boolean {
    return this.config.protocols.has(protocol);
  }

  describe(): JsonObject {
    return this.adapter.describe();
  }
}

/** The parts of a config that upstreams are made of. */
interface UpstreamsConfig {
  readonly limits: Limits;
  readonly upstreams: Readonly<Record<string, LoadedUpstream>>;
}

/** All upstreams of a config, by name, and the connections to them. */
export class ConnectedUpstreams implements Upstreams {
  private readonly byName = new Map<string, HttpUpstream>();
  private readonly agents: Agent[] = [];

  constructor(config: UpstreamsConfig, clock: Clock) {
    const { connectMs, idleMs, callMs } = config.limits;
    // A call's own deadline bounds silence; the idle limit is there for operators who want less. Without one,
    // both would strike at once, and the client might hear of a broken connection in place of its limit.
    const silenceMs = idleMs < callMs ? idleMs : callMs + DEADLINE_GRACE_MS;
    for (const [name, upstream] of Object.entries(config.upstreams)) {
      const agent = new Agent({
        connections: upstream.connections,
        pipelining: 1,
        connect: { timeout: connectMs },
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        keepAliveTimeout: 30_000,
        // One header section is bounded like a client's is.
        maxHeaderSize: 65_536,
      });
      this.agents.push(agent);
      this.byName.set(name, new HttpUpstream(name, upstream, agent, connectMs, clock));
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
