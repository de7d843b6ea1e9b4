import type { GenericSchema } from "valibot";
import type { ServerEvent } from "../sse/reader.ts";
import type { Call, EndedCall, Outcome } from "./call.ts";
import type { Command } from "./command.ts";
import type { Config } from "./config.ts";
import type { Refusal } from "./refusal.ts";
import type { Router } from "./routes/router.ts";
import type { Services } from "./services.ts";
import type { SlotName } from "./slot.ts";

/** A refusal is a value; a throw is a bug, which ends the call with a 500. */
export type Verdict = Refusal | undefined;
export type AwaitableVerdict = Verdict | Promise<Verdict>;

/**
 * What a plugin may do in the life of a call, all of it optional. `admit` and `request` run in the order of
 * the config, bytes come back in the opposite order, and `close` runs in the order of the config again.
 */
export interface Plugin {
  /** Lower-case letters and hyphens; no two plugins of a config share one. Log lines and tables go by it. */
  readonly name: string;
  /**
   * Folder of SQL files of its own, `0001-what-it-does.sql` and up, wherever the plugin lives:
   * `new URL("./migrations/", import.meta.url)`. Core applies the new ones, each in a transaction, before `start`,
   * and records them in the table `NAME_migrations`. A file that was applied once may never change.
   */
  readonly migrations?: URL;
  /** Headers are there, the body is not: who may not come in is turned away before it is read. */
  admit?(call: Call): AwaitableVerdict;
  /** The body is there and is what its endpoint requires. Answers a promise only if it must wait. */
  request?(call: Call): AwaitableVerdict;
  /** Wraps the way back, or answers `client` to stay out of it. */
  stream?(call: Call, client: Sink): Sink;
  /**
   * Once, whatever became of the call, if its `admit` or `request` was entered; never while one of them is
   * pending. The last byte to the client waits for it; a rejection ends the call with an error instead.
   */
  close?(call: Call): void | Promise<void>;
  /**
   * Once, after the last `close` and after the last byte or the cut, if `admit` or `request` was entered. For
   * metrics, logs and statistics: it delays no client, and a throw is logged and changes nothing.
   */
  ended?(call: EndedCall): void;
  /** Adds routes of its own. Runs at the start and again at every reload, after all plugins have started. */
  routes?(router: Router): void;
  /** What it adds to `npm run admin -- …`. */
  readonly commands?: readonly Command[];
  /** Before the gateway listens, or when a reload adds the plugin. A rejection stops the start, or the reload. */
  start?(): Promise<void>;
  /** The gateway takes calls at this address now. */
  listening?(address: string): void | Promise<void>;
  /** After its last call, when the gateway stops or a reload drops the plugin. A rejection is logged. */
  stop?(): Promise<void>;
}

/**
 * The way back from the upstream to the client, synchronous throughout: a plugin that needs time pauses the
 * upstream by `call.flow`, and one that writes outside of the methods of its own sink calls `call.flow.flush()`.
 *
 * The order is fixed: `head` once; then `event`s (of an event stream) or `data` (of anything else), never both;
 * then `end`, once, and nothing after it. Only an `end` that is not `complete` or `refused` may come without a
 * head. A use out of order is a bug of the plugin: it is logged with the plugin's name, does not reach the client,
 * and the call ends with 500, or with an error in its stream, and costs nothing. A charge is made only when `end`
 * has returned through every sink.
 */
export interface Sink {
  head(status: number, headers: readonly string[]): void;
  /** `event.kind` says what it means to the stream; a plugin gives its own events their kind. */
  event(event: ServerEvent): void;
  data(bytes: Uint8Array): void;
  end(outcome: Outcome): void;
}

/** Fields of `Call` that one plugin sets and others need. */
export const FIELDS = ["key", "model", "upstream", "usage", "limits", "hold"] as const;
export type Field = (typeof FIELDS)[number];

/** Parts of the config that a plugin may keep a copy of. */
export const CONFIG_KEYS = [
  "admin",
  "catalogue",
  "headers",
  "limits",
  "listen",
  "log",
  "stores",
  "unbilled",
] as const satisfies readonly (keyof Config)[];
export type ConfigKey = (typeof CONFIG_KEYS)[number];

/** Something wrong with a plugin's options. */
export interface Fault {
  /** Where in the options; empty: the plugin as a whole. */
  readonly path: readonly (string | number)[];
  /** "expected ...", as in the other messages about the config. Never a value of the options: it may be a secret. */
  readonly message: string;
  /** Go on with ", got" and what the file says at `path`, before variables are put in. */
  readonly quoted?: boolean;
}

/**
 * What the module of a plugin exports. What it states beside `default` is here and not on the plugin, since a config
 * is checked, with file and line, before any plugin is made.
 */
export interface PluginModule {
  /** Options without a schema are refused. */
  readonly options?: GenericSchema;
  /** Plugins that must stand before this one in the config if they stand there at all. */
  readonly after?: readonly string[];
  /** Fields of `Call` that must be set when this plugin sees the call: what sets them must stand before it. */
  readonly requires?: readonly Field[];
  /** Fields of `Call` that this plugin uses if another one sets them, which must then stand before it. */
  readonly takes?: readonly Field[];
  /** Fields of `Call` that this plugin sets. Core sets `model` and `upstream` if no plugin does. */
  readonly sets?: readonly Field[];
  /** Slots without which it has no use: a config in which no plugin provides them is refused. */
  readonly uses?: readonly SlotName[];
  /** Slots that it fills. */
  readonly provides?: readonly SlotName[];
  /** Parts of the config that it keeps a copy of: a reload that changes one of them makes the plugin again. */
  readonly reads?: readonly ConfigKey[];
  /** What no schema can say: what is wrong with the options in a config whose other parts are right. */
  review?(options: unknown, config: Config): readonly Fault[];
  default(services: Services, options: unknown): Plugin;
}
