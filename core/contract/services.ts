import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { Accounts, Keys } from "./accounts.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Command } from "./command.ts";
import type { Config } from "./config.ts";
import type { Database } from "./database.ts";
import type { HoldStore } from "./hold-store.ts";
import type { ImageFetcher, ImageFetcherOptions } from "./images.ts";
import type { Ledger } from "./ledger.ts";
import type { OperatorActions } from "./operator-actions.ts";
import type { Protocol, Wire } from "./protocol.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { Slots } from "./slot.ts";
import type { Upstreams } from "./upstreams.ts";
import type { UsageBooks } from "./usage-books.ts";
import type { Wallets } from "./wallets.ts";

/**
 * What the core offers to plugins: one object for each plugin, so that core knows who filled a slot. Config,
 * catalogue, upstreams and what a slot holds change at a reload: read them through it at each use.
 */
export interface Services extends Slots {
  /** Checked in every part. A plugin that keeps a copy of one names it in `reads`. */
  readonly config: Config;
  /** The models, with prices and routes. */
  readonly catalogue: Catalogue;
  /** The upstreams by name, with their state in this process. */
  readonly upstreams: Upstreams;
  /** Time, for a plugin that is tested with a clock of its own. */
  readonly clock: Clock;
  /** JSON lines on stdout. No prompt, reply or key belongs into a field. */
  readonly log: Log;
  /** Every movement of money, durable. Calls reach it through `wallets`. */
  readonly ledger: Ledger;
  /** What was called and charged. */
  readonly usage: UsageBooks;
  /** The ledger's database, for tables that plugins own. Money moves through `wallets` only. */
  readonly database: Database;
  readonly accounts: Accounts;
  /** The audit trail. `addOperatorRoutes` writes it. */
  readonly operatorActions: OperatorActions;
  /** What must be fast: available balances and open holds. Plugins use it through `wallets`. */
  readonly holdStore: HoldStore;
  /** Holds, extends, posts, voids and credits: the only way to move money. */
  readonly wallets: Wallets;
  /** API keys as callers send them, cached. */
  readonly keys: Keys;
  /** Calls a minute and at a time, counted over all processes. */
  readonly rateLimiter: RateLimiter;
  /** What plugins add to the operator's command line; all of it once `routes` runs. */
  readonly commands: readonly PluginCommand[];
  /** Calls in flight at this moment. */
  readonly callsInFlight: CallsInFlight;
  /** The facts of each protocol. */
  readonly wires: Readonly<Record<Protocol, Wire>>;
  /** Fetches images that a request names by address: from public ones only, unless `anyAddress` is set. */
  imageFetcher(options: ImageFetcherOptions): ImageFetcher;
}

/** The calls of this process that have not ended. */
export interface CallsInFlight {
  readonly size: number;
  /** The account of one of them; undefined if no such call runs here, or it has no key yet. Searches them all. */
  accountOf(callId: string): string | undefined;
}

/** A command, with the name of the plugin that adds it. */
interface PluginCommand {
  readonly plugin: string;
  readonly command: Command;
}
