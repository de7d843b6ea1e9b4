import type { Dispatcher } from "undici";
import type { Model } from "../catalogue/catalogue.ts";
import type { UpstreamRequest } from "../plugin/call.ts";
import type { Limits, ProxyVariables, SwitchedOff, Upstreams } from "../plugin/config.ts";
import type { LoadedUpstream } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { upstreamAgent, upstreamConnector } from "./connect.ts";
import { hidesReasoning } from "./hidden-reasoning.ts";
import { HttpUpstream } from "./http-upstream.ts";
import { KnownAddresses } from "./known-addresses.ts";
import { proxyFor } from "./proxy.ts";
import { tryRoute } from "./trial.ts";

/** Time beyond the limit of a call: longer than the server takes to notice a call over its limit. */
const DEADLINE_GRACE_MS = 10_000;

interface UpstreamsConfig {
  readonly limits: Limits;
  readonly proxies: ProxyVariables;
  readonly upstreams: Readonly<Record<string, LoadedUpstream>>;
}

/** All upstreams of a config, by name, and the connections to them. */
export class ConnectedUpstreams implements Upstreams {
  private readonly byName = new Map<string, HttpUpstream>();
  private readonly agents: Dispatcher[] = [];
  readonly limits: Limits;

  constructor(
    config: UpstreamsConfig,
    clock: Clock,
    log: Log,
    addresses: KnownAddresses = new KnownAddresses(clock),
  ) {
    const { connectMs, callMs } = config.limits;
    this.limits = config.limits;
    // The deadline of a call bounds silence, and an exchange bounds that of a stream. These timeouts come later: else
    // both fire at once, and the client may get the error of a broken connection instead of the time limit.
    const silenceMs = callMs + DEADLINE_GRACE_MS;
    for (const [name, upstream] of Object.entries(config.upstreams)) {
      const connect = upstreamConnector({
        connectMs,
        lookup: addresses.lookup,
        proxyFor: (origin) => proxyFor(origin, upstream.proxy, config.proxies),
      });
      const { connections, connectionAgeMs: ageMs } = upstream;
      const agent = upstreamAgent({ connections, ageMs, silenceMs, connect });
      this.agents.push(agent);
      const connected = new HttpUpstream(name, upstream, agent, connectMs, clock, log, tryRoute);
      this.byName.set(name, connected);
    }
  }

  get(name: string): HttpUpstream | undefined {
    return this.byName.get(name);
  }

  all(): Iterable<HttpUpstream> {
    return this.byName.values();
  }

  hidesReasoning(model: Model, request: UpstreamRequest, routes = model.routes): boolean {
    return hidesReasoning(model, request, routes, (name) => this.get(name)?.config.profile);
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
