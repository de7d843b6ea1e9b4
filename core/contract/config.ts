import type { Catalogue } from "./catalogue.ts";
import type { PluginModule } from "./plugin.ts";
import type { Profile } from "./profile.ts";
import type { Protocol } from "./protocol.ts";

/** A config that was checked in every part. Times in milliseconds, sizes in bytes. */
export interface Config {
  readonly listen: { readonly host: string; readonly port: number; readonly workers: number };
  readonly admin: {
    /** Undefined: a random one in the data folder is used. */
    readonly token: string | undefined;
  };
  readonly stores: {
    /** Embedded, one Redis, or some nodes of a cluster. */
    readonly hot: "embedded" | string | readonly string[];
    readonly ledger: "embedded" | string;
    /** Relative to the working directory. */
    readonly data: string;
  };
  readonly limits: Limits;
  readonly log: { readonly level: string };
  readonly headers: { readonly prefix: string };
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
  readonly catalogue: Catalogue;
  /** Calls are served without being held or charged. */
  readonly unbilled: boolean;
  readonly plugins: readonly LoadedPlugin[];
}

export interface Limits {
  readonly bodyBytesMax: number;
  readonly headerBytesMax: number;
  readonly replyBytesMax: number;
  /** Open calls of one process. */
  readonly callsMax: number;
  readonly callMs: number;
  readonly connectMs: number;
  /** Silence of an upstream. */
  readonly idleMs: number;
  readonly drainMs: number;
}

/** An upstream of the config, without what only its kind needs to know: addresses, keys, headers. */
export interface UpstreamConfig {
  readonly kind: string;
  readonly protocols: ReadonlySet<Protocol>;
  readonly profile: Profile;
  /** Most connections at a time. */
  readonly connections: number;
}

/** A plugin as the config names it. */
export interface LoadedPlugin {
  /** As the config names it; the name of its folder if it comes with the gateway. */
  readonly name: string;
  /** Of the code that stands on the disk now, which may be newer than the module. */
  readonly fingerprint: string;
  readonly module: PluginModule;
  /** The output of the module's schema for its options; undefined if it has no schema. */
  readonly options: unknown;
}
