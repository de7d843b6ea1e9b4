import type { Catalogue, Model, Route } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { AllowedFeatures } from "../catalogue/features.ts";
import type { Profile } from "../catalogue/profile.ts";
import type { JsonObject } from "../process/json.ts";
import type { Usage } from "../wire/usage/usage.ts";
import type { UpstreamRequest } from "./call.ts";

/**
 * A checked config. Each setting is described in `core/config/schema.ts`, under its name there (`limits.call_seconds` is
 * `limits.callMs`); here times are milliseconds, and sizes are bytes.
 */
export interface Config {
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly workers: number;
    /** The HTTP server: uWebSockets.js, or `node:http`; `auto` takes the first if it can be loaded. */
    readonly engine: "auto" | "native" | "node";
    /** Proxies whose x-forwarded-for tells the address of a client: addresses, ranges, `loopback` or `private`. */
    readonly trustedProxies: readonly string[];
  };
  readonly admin: {
    /** The admin token; undefined if the gateway uses a random one from the data folder. */
    readonly token: string | undefined;
    /** The address that serves the routes for operators; undefined if customers and operators share one. */
    readonly listen: { readonly host: string; readonly port: number } | undefined;
  };
  readonly stores: {
    /** `embedded`, the URL of one Redis, or the URLs of some nodes of a cluster. */
    readonly hot: "embedded" | string | readonly string[];
    /** `embedded`, or the URL of a Postgres server. */
    readonly ledger: "embedded" | string;
    /** Maximum connections of one process to Postgres. */
    readonly connections: number;
    /** Whole months before this one that cannot be archived; undefined: no month can. */
    readonly monthsKept: number | undefined;
    /** Path of the data folder, relative to the working directory. */
    readonly data: string;
  };
  readonly limits: Limits;
  readonly log: { readonly level: string };
  readonly headers: {
    readonly prefix: string;
    /** Origins whose scripts may call with an API key; `*` is every origin. */
    readonly corsOrigins: readonly string[];
  };
  readonly images: ImageSettings;
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
  readonly catalogue: Catalogue;
  /** True if calls are served without a hold or a charge. */
  readonly unbilled: boolean;
  readonly plugins: readonly ListedPlugin[];
  /** A short hash of the config as it is written, without the settings of one server. */
  readonly version: string;
  /** The settings that are texts, without their values. */
  readonly sources: readonly SettingSource[];
}

/** A setting that is a text, such as `admin.token` or `messages.smtp.password`, and what it was written with. */
export interface SettingSource {
  readonly setting: string;
  /** Names of environment variables, and paths of files, which begin with a slash. None: it is written in the config. */
  readonly from: readonly string[];
}

/** Settings for images that customers name by address. */
export interface ImageSettings {
  /** True if they may be in private networks and on this machine. */
  readonly privateAddresses: boolean;
  /** Name servers that resolve their names; empty for those of the machine. */
  readonly nameServers: readonly string[];
}

export interface Limits {
  readonly bodyBytesMax: number;
  /** Maximum bytes of the request bodies of calls that run. */
  readonly bodiesBytesMax: number;
  readonly headerBytesMax: number;
  readonly replyBytesMax: number;
  /** Maximum memory of all replies that wait to be read. */
  readonly unreadBytesMax: number;
  /** Maximum memory of one process for cached API keys. */
  readonly keyCacheBytesMax: number;
  /** Maximum calls in flight in one process. */
  readonly callsMax: number;
  /** Maximum calls of one account in one process whose clients have left while their upstreams go on. */
  readonly leftCallsMax: number;
  /** Longest duration of a call. */
  readonly callMs: number;
  readonly connectMs: number;
  /** Longest wait for the first byte of a stream. */
  readonly firstByteMs: number;
  /** Longest silence of an upstream within a stream, after its first byte. */
  readonly idleMs: number;
  /** Silence before a stream begins after which its client gets a sign of life; infinite if never. */
  readonly heartbeatMs: number;
  /** How long a stopping gateway waits for calls in flight. */
  readonly drainMs: number;
  /** How long a stopping gateway leaves an idle connection open, for its client to close it; 0: it hands nothing over. */
  readonly handoverMs: number;
  /** Largest difference between the clocks of the gateway and Postgres at a start; 0 allows any. */
  readonly clockDifferenceMs: number;
}

/** An upstream of the config, without its addresses, keys and headers: only its kind knows those. */
export interface UpstreamConfig {
  readonly kind: string;
  readonly protocols: ReadonlySet<Protocol>;
  readonly profile: Profile;
  readonly features: AllowedFeatures;
  /** Maximum connections at the same time. */
  readonly connections: number;
  /** Longest wait for the first content of a stream, if another key or route can serve the call and the config states one. */
  readonly firstByteMs: number | undefined;
  /** The same for a whole reply; infinite without a limit. */
  readonly replyMs: number;
}

/** A plugin of the config, as other plugins see it. */
interface ListedPlugin {
  /** The plugin's name in the config; the name of its folder if it comes with the gateway. */
  readonly name: string;
  /** The fields of a call that its module sets. */
  readonly module: { readonly sets?: readonly string[] };
}

/** The upstreams of the config, by name. */
export interface Upstreams {
  get(name: string): Upstream | undefined;
  all(): Iterable<Upstream>;
  /**
   * Returns true if a call may reason in tokens that its stream does not carry, so that they cannot be counted while they
   * are made, and the stream is silent. Any route of the model may serve it, unless `routes` are stated.
   */
  hidesReasoning(model: Model, request: UpstreamRequest, routes?: readonly Route[]): boolean;
  /** Replaces what operators have switched off. Calls in flight finish. */
  switchOff(list: readonly SwitchedOff[]): void;
}

/** An upstream that operators have switched off: all of it, or one model or one key of it if that is not empty. */
export interface SwitchedOff {
  readonly upstream: string;
  /** The name of the model there. */
  readonly model: string;
  /** The `id` of the key. */
  readonly key: string;
}

/** The result of a call that an operator has made to try an upstream. */
export interface Trial {
  readonly served: boolean;
  /** The HTTP status; missing if none came. */
  readonly status?: number;
  /** Why it was not served, as failed attempts state it. Never the provider's text. */
  readonly cause?: string;
  readonly reason?: string;
  readonly ms?: number;
  readonly usage?: Usage;
}

/** An upstream, as plugins see it. */
export interface Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  /** That of all its models first, then those of the models that have failed. */
  readonly breakers: Iterable<ModelBreaker>;
  readonly keys: readonly KeyState[];
  /** The models that operators have switched off here; an empty name stands for all. */
  readonly off: ReadonlySet<string>;
  /** Makes one short, real call by a route, with the key of this `id`. */
  try(route: Route, key: string): Promise<Trial>;
  /** Returns true if the upstream takes calls of the protocol. */
  speaks(protocol: Protocol): boolean;
  /** Returns what operators may see: addresses, the number of keys. No secrets. */
  describe(): JsonObject;
}

/** The breaker of one model at an upstream; an empty `model` stands for all of them. */
export interface ModelBreaker {
  readonly model: string;
  readonly breaker: BreakerState;
}

/** A key of an upstream, as operators see it in this process. Times are on the monotonic clock. */
export interface KeyState {
  /** The same for the same key at every gateway; reveals nothing of it. */
  readonly id: string;
  /** Its last four characters; empty for a short key, and for a kind without keys. */
  readonly last4: string;
  readonly isOff: boolean;
  readonly lastUsedMs: number | undefined;
  /** Refusals and failures of calls that were sent with it. */
  readonly failures: number;
  readonly lastFailure: Failure | undefined;
  /** Why it is left alone, and for how long; an empty `model` stands for all models. */
  restsAt(nowMs: number): readonly { model: string; fault: string; inMs: number }[];
}

/** The state of a circuit breaker in this process. */
export interface BreakerState {
  readonly state: "closed" | "open" | "probing";
  /** Failures since the start of the process. */
  readonly failures: number;
  /** The same by their causes, as metrics name them. */
  readonly failuresByCause: Readonly<Record<string, number>>;
  readonly failuresInRow: number;
  readonly lastFailure: Failure | undefined;
  /** Milliseconds until a probe of an open breaker is due; 0 if it is now, or the breaker is closed. */
  readonly retryInMs: number;
}

export interface Failure {
  /** The time of the failure, on the monotonic clock. */
  readonly atMs: number;
  readonly reason: string;
}

/** The environment's variables for proxies, in either case. */
export interface ProxyVariables {
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
}
