import type { Protocol } from "../catalogue/endpoint.ts";
import type { JsonObject } from "../process/json.ts";
import type { UpstreamConfig } from "./config.ts";

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
  /** Returns true if the upstream takes calls of the protocol. */
  speaks(protocol: Protocol): boolean;
  /** Returns what operators may see: addresses, the number of keys. No secrets. */
  describe(): JsonObject;
}

/** The state of an upstream's circuit breaker in this process. */
export interface BreakerState {
  readonly state: "closed" | "open" | "probing";
  /** Failures since the start of the process. */
  readonly failures: number;
  /** The same by their causes, as metrics name them. */
  readonly failuresByCause: Readonly<Record<string, number>>;
  readonly failuresInRow: number;
  readonly lastFailure: Failure | undefined;
  /**
   * Milliseconds until an open breaker lets a call through as a probe; 0 if it lets calls through
   * now.
   */
  readonly retryInMs: number;
}

export interface Failure {
  /** The time of the failure, on the monotonic clock. */
  readonly atMs: number;
  readonly reason: string;
}
