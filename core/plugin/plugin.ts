import type { GenericSchema } from "valibot";
import type { ServerEvent } from "../sse/reader.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { Call, EndedCall, Outcome } from "./call.ts";
import type { Config } from "./config.ts";
import type { Router } from "./router.ts";
import type { Command, Services } from "./services.ts";
import type { PluginSlotName, SlotName } from "./slot.ts";
import type { UpstreamKind } from "./upstream-kind.ts";

/**
 * The decision of a plugin about a call. Undefined lets the call go on. A refusal is a value: a
 * throw is a bug, which ends the call with 500.
 */
export type Verdict = Refusal | undefined;
export type AwaitableVerdict = Verdict | Promise<Verdict>;

/**
 * A plugin: hooks into the life of a call, all of them optional.
 *
 * `admit` and `request` run in the order of the config. The reply passes through `stream` sinks in
 * the opposite order. `close` runs in the order of the config again.
 */
export interface Plugin {
  /**
   * The name: lower-case letters and hyphens, unique in the config. Log lines show it, and table
   * names begin with it.
   */
  readonly name: string;
  /**
   * Folder of the plugin's SQL files, `0001-what-it-does.sql` and up: `new URL("./migrations/",
   * import.meta.url)`. Core applies new files before `start`, each in a transaction, and records
   * them in the table `NAME_migrations`. Never change a file that was applied. If earlier
   * versions of the plugin work after a file, say so in its first line: see the README in
   * `core/database/migrations`.
   */
  readonly migrations?: URL;
  /** Runs when the headers have arrived, before the body is read. Refuse callers here. */
  admit?(call: Call): AwaitableVerdict;
  /**
   * Runs when the body has arrived and has the fields that its endpoint requires. Return a promise
   * only if you have to wait.
   */
  request?(call: Call): AwaitableVerdict;
  /** Wraps the response sink. Return `client` to opt out. */
  stream?(call: Call, client: Sink): Sink;
  /**
   * Runs exactly once per call whose `admit` or `request` ran, whatever the outcome, and never
   * while one of them is pending. The last byte to the client waits for it. If it rejects, the call
   * ends with an error instead.
   */
  close?(call: Call): void | Promise<void>;
  /**
   * Runs once for the same calls as `close`: after the last `close`, and after the last byte or the
   * cut of the connection. For metrics, logs and statistics: it delays no client. If it throws,
   * core logs the error and goes on.
   */
  ended?(call: EndedCall): void;
  /**
   * Adds the plugin's own routes. Runs at start and at every reload, after all plugins have
   * started.
   */
  routes?(router: Router): void;
  /** Commands that the plugin adds to `npm run admin -- …`. */
  readonly commands?: readonly Command[];
  /**
   * Runs before the gateway listens, or when a reload adds the plugin. If it rejects, the start or
   * the reload fails.
   */
  start?(): Promise<void>;
  /** The gateway now takes calls at this address: `http://127.0.0.1:8080`. */
  listening?(address: string): void | Promise<void>;
  /**
   * Runs after the plugin's last call, when the gateway stops, or a reload drops the plugin or
   * gives it other options: at once if it has none of the methods for calls. If it rejects, core
   * logs the error.
   */
  stop?(): Promise<void>;
}

/**
 * Receives the reply on its way from the upstream to the client. All methods are synchronous. A
 * plugin that needs time pauses the upstream with `call.flow.pause()`. A plugin that writes outside
 * the methods of its own sink calls `call.flow.flush()` afterwards.
 *
 * The order is fixed: `head` once, then either `event`s (of an event stream) or `data` (of any
 * other body), then `end` once. Only an `end` that is neither `complete` nor `refused` may come
 * without a head.
 *
 * A use out of order is a bug of the plugin. Core logs it with the plugin's name and drops it. The
 * call ends with 500, or with an error in its stream, and costs nothing: core charges a call only
 * after `end` has returned through every sink.
 */
export interface Sink {
  head(status: number, headers: readonly string[]): void;
  /** `event.kind` is the event's meaning in the stream. Set it for events that you create. */
  event(event: ServerEvent): void;
  data(bytes: Uint8Array): void;
  end(outcome: Outcome): void;
}

/** Fields of `Call` that one plugin sets and others need. `hold` means the field `held`. */
export const FIELDS = ["key", "model", "upstream", "usage", "purses", "hold"] as const;
export type Field = (typeof FIELDS)[number];

/** Parts of the config that a plugin may copy: see `PluginModule.reads`. */
export const CONFIG_KEYS = [
  "admin",
  "catalogue",
  "headers",
  "limits",
  "listen",
  "log",
  "stores",
  "unbilled",
  "version",
] as const satisfies readonly (keyof Config)[];
type ConfigKey = (typeof CONFIG_KEYS)[number];

/** A fault in a plugin's options. */
export interface Fault {
  /** Path to the option; empty if the plugin as a whole is at fault. */
  readonly path: readonly (string | number)[];
  /**
   * "expected ...", as in other messages about the config. Never includes a value of the options:
   * it may be a secret.
   */
  readonly message: string;
  /** Appends ", got" and the text of the file at `path`, before variables are filled in. */
  readonly quoted?: boolean;
}

/**
 * The exports of a plugin's module. Requirements are stated here, not on the plugin, because core
 * checks a config, with file and line, before it creates any plugin.
 */
export interface PluginModule {
  /**
   * Schema of the plugin's options. Without one, a config that gives the plugin options is refused.
   */
  readonly options?: GenericSchema;
  /**
   * Options that name a YAML file, relative to the config's folder, with the schema of its content: a mapping with the
   * option's name as a key. Core reads the file at the start and at each reload, and gives the plugin the content
   * instead of the name.
   */
  readonly files?: Readonly<Record<string, GenericSchema>>;
  /** Plugins that must come before this one in the config, if the config has them. */
  readonly after?: readonly string[];
  /**
   * Fields of `Call` that must be set when this plugin sees the call. The plugin that sets them
   * must come before it.
   */
  readonly requires?: readonly Field[];
  /**
   * Fields of `Call` that this plugin uses if another plugin sets them. That plugin must then come
   * before it.
   */
  readonly takes?: readonly Field[];
  /** Fields of `Call` that this plugin sets. Core sets `model` and `upstream` if no plugin does. */
  readonly sets?: readonly Field[];
  /** Slots that this plugin needs: core's own, and others, which a plugin of the config must then provide. */
  readonly uses?: readonly SlotName[];
  /** Slots that this plugin fills. */
  readonly provides?: readonly PluginSlotName[];
  /**
   * Parts of the config that this plugin copies. A reload that changes one of them creates the
   * plugin again.
   */
  readonly reads?: readonly ConfigKey[];
  /**
   * States the discounts that the options grant, in basis points by name. A reload shows those that it changes, so put the
   * conditions into the name.
   */
  discounts?(options: unknown): Readonly<Record<string, number>>;
  /** A kind of upstream that the config can then name: `upstreams.X.kind`. */
  readonly upstreamKind?: UpstreamKind;
  /**
   * Finds faults that a schema cannot express. Runs only if all other parts of the config are
   * valid.
   */
  review?(options: unknown, config: Config): readonly Fault[];
  /** Returns lines about what the operator may have made by mistake: printed by `--check`, logged at a start and a reload. */
  warnings?(options: unknown, config: Config): readonly string[];
  /** Creates the plugin. `options` is the output of the schema. */
  default(services: Services, options: unknown): Plugin;
}

/** A loaded plugin of the config. */
export interface LoadedPlugin {
  /** The plugin's name in the config; the name of its folder if it comes with the gateway. */
  readonly name: string;
  readonly module: PluginModule;
  /** The options as the module's schema returns them; undefined if it has no schema. */
  readonly options: unknown;
}

/** The config as core has it: with the modules of its plugins. */
export interface ConfigWithPlugins extends Config {
  readonly plugins: readonly LoadedPlugin[];
}

/** Returns the content type in a list of headers (name, value, name, value); empty if there is none. */
export function contentTypeOf(headers: readonly string[]): string {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === "content-type") return headers[at + 1] ?? "";
  }
  return "";
}
