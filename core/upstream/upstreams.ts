import type { Dispatcher } from "undici";
// The library as a whole takes 10 MB more, for parts that a gateway never asks for.
import Agent from "undici/lib/dispatcher/agent.js";
import type { Config, UpstreamConfig } from "../contract/config.ts";
import { MESSAGES_VERSION } from "../contract/endpoint.ts";
import type { Protocol } from "../contract/protocol.ts";
import type { Upstream, Upstreams } from "../contract/upstreams.ts";
import type { Clock } from "../process/clock.ts";
import { Breaker } from "./breaker.ts";

/** More than the server needs to notice that a call has lasted too long. */
const DEADLINE_GRACE_MS = 10_000;

/** An upstream as calls need it: connections, credentials in turn, and its breaker. */
export class HttpUpstream implements Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly dispatcher: Dispatcher;
  readonly breaker: Breaker;
  private readonly bases = new Map<Protocol, { origin: string; prefix: string }>();
  private next = 0;

  constructor(name: string, config: UpstreamConfig, dispatcher: Dispatcher, clock: Clock) {
    this.name = name;
    this.config = config;
    this.dispatcher = dispatcher;
    this.breaker = new Breaker(clock);
    for (const [protocol, address] of Object.entries(config.protocols)) {
      const url = new URL(address);
      const prefix = url.pathname.replace(/\/+$/, "");
      this.bases.set(protocol as Protocol, { origin: url.origin, prefix });
    }
  }

  speaks(protocol: Protocol): boolean {
    return this.bases.has(protocol);
  }

  /** Where it takes calls of a protocol; undefined where it does not speak it. */
  base(protocol: Protocol): { origin: string; prefix: string } | undefined {
    return this.bases.get(protocol);
  }

  /** Credentials and fixed headers, name and value in turn; several keys are used in turn. */
  headers(protocol: Protocol): string[] {
    const keys = this.config.keys;
    const key = keys[this.next++ % keys.length] ?? "";
    const headers =
      protocol === "messages"
        ? ["x-api-key", key, "anthropic-version", MESSAGES_VERSION]
        : ["authorization", `Bearer ${key}`];
    for (const [name, value] of Object.entries(this.config.headers)) headers.push(name, value);
    return headers;
  }
}

/** All upstreams of a config, by name, and the connections to them. */
export class ConnectedUpstreams implements Upstreams {
  private readonly byName = new Map<string, HttpUpstream>();
  private readonly agents: Agent[] = [];

  constructor(config: Config, clock: Clock) {
    const { idleMs, callMs } = config.limits;
    // A call's own deadline bounds silence; the idle limit is there for operators who want less. Without one,
    // both would strike at once, and the client might hear of a broken connection in place of its limit.
    const silenceMs = idleMs < callMs ? idleMs : callMs + DEADLINE_GRACE_MS;
    for (const [name, upstream] of Object.entries(config.upstreams)) {
      const agent = new Agent({
        connections: upstream.connections,
        pipelining: 1,
        connect: { timeout: config.limits.connectMs },
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        keepAliveTimeout: 30_000,
        // One header section is bounded like a client's is.
        maxHeaderSize: 65_536,
      });
      this.agents.push(agent);
      this.byName.set(name, new HttpUpstream(name, upstream, agent, clock));
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
