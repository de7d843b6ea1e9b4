import type { JsonObject } from "../process/json.ts";
import type { UpstreamConfig } from "./config.ts";
import type { Protocol } from "./protocol.ts";

/** The upstreams of the config, by name. */
export interface Upstreams {
  get(name: string): Upstream | undefined;
  all(): Iterable<Upstream>;
}

/** An upstream, as plugins see it. */
export interface Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly breaker: BreakerState;
  /** True if it takes calls of the protocol. */
  speaks(protocol: Protocol): boolean;
  /** What its kind shows to operators: addresses, the number of keys. No secrets. */
  describe(): JsonObject;
}

/** What a circuit breaker knows of its upstream, as seen by this process. */
export interface BreakerState {
  readonly state: "closed" | "open" | "probing";
  /** Failures since the start of the process. */
  readonly failures: number;
  readonly failuresInRow: number;
  readonly lastFailure: Failure | undefined;
  /** Milliseconds until an open breaker lets a call probe; 0 if it lets calls through now. */
  readonly retryInMs: number;
}

export interface Failure {
  /** On the monotonic clock. */
  readonly atMs: number;
  readonly reason: string;
}
