import type { Accounts, Keys, OperatorActions } from "../accounts/index.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { Database } from "../database/database.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { CommitterStatus } from "../money/committer.ts";
import type { HoldStore } from "../money/hold-store.ts";
import type { Ledger } from "../money/ledger.ts";
import type { LedgerArchive } from "../money/ledger-archive.ts";
import type { PaceStatus } from "../money/pace.ts";
import type { Wallets } from "../money/wallet.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { StoreFault } from "../process/store-fault.ts";
import type { Workers } from "../process/workers.ts";
import type { UsageBooks } from "../usage/books.ts";
import type { Wire } from "../wire/wire.ts";
import type { BodyThreads } from "./body-threads.ts";
import type { Command } from "./command.ts";
import type { Config } from "./config.ts";
import type { ImageFetcher } from "./images.ts";
import type { Slots } from "./slot.ts";
import type { Upstreams } from "./upstreams.ts";

/**
 * The services that core offers to plugins. Each plugin gets its own object, so that core knows
 * which plugin filled a slot.
 *
 * Config, catalogue, upstreams and the values of slots change on reload. They are getters: read
 * them at each use, and do not destructure them.
 */
export interface Services extends Slots {
  /** The checked config. A plugin that copies a part of it names that part in `reads`. */
  readonly config: Config;
  /** The models, with prices and routes. */
  readonly catalogue: Catalogue;
  /** The upstreams by name, with the state of their circuit breakers in this process. */
  readonly upstreams: Upstreams;
  /** The time. Use it instead of `Date`, so that a test can set it. */
  readonly clock: Clock;
  /** Writes JSON lines to stdout. Never put a prompt, a reply or a key into a field. */
  readonly log: Log;
  /** The durable record of every movement of money. Calls reach it through `wallets`. */
  readonly ledger: Ledger;
  /** Records of calls and their charges. */
  readonly usage: UsageBooks;
  /** Old months of the ledger, which operators export and take out of it. */
  readonly archive: LedgerArchive;
  /** The ledger's database, for tables that plugins own. Money moves only through `wallets`. */
  readonly database: Database;
  readonly accounts: Accounts;
  /** The audit trail. `addOperatorRoutes` writes to it. */
  readonly operatorActions: OperatorActions;
  /** Available balances and holds, fast to read and change. Plugins use it through `wallets`. */
  readonly holdStore: HoldStore;
  /** Holds, extends, posts, voids and credits. The only way to move money. */
  readonly wallets: Wallets;
  /** Finds API keys by their text. Cached. */
  readonly keys: Keys;
  /** Limits calls per minute and calls at the same time, counted over all processes. */
  readonly rateLimiter: RateLimiter;
  /** Commands that plugins add to the operator's command line. Complete when `routes` runs. */
  readonly commands: readonly PluginCommand[];
  /** The calls of this process that have not ended. */
  readonly callsInFlight: CallsInFlight;
  /** The clocks of the stores, measured every minute. */
  readonly clockDifferences: readonly ClockDifference[];
  /** Settings of the stores that can lose money, read every minute. */
  readonly storeFaults: readonly StoreFault[];
  /** Counts of the calls that this process has committed to the ledger. */
  readonly commits: CommitterStatus;
  /** Lines of the log that were lost: its disk was full, or its reader was slow or gone. */
  readonly lostLogLines: number;
  /** The calls that wait because the ledger is slower than the calls. */
  readonly pace: PaceStatus;
  /** The replies of this process that wait for their clients to read them. */
  readonly unreadReplies: UnreadReplyStatus;
  /** The other processes that share the port, if there are any. */
  readonly workers: Workers;
  /** Threads for work on long bodies. */
  readonly bodyThreads: BodyThreads;
  /** For each protocol: how to read and write its bodies and events. */
  readonly wires: Readonly<Record<Protocol, Wire>>;
  /** Fetches images that a request names by address. */
  readonly imageFetcher: ImageFetcher;
}

/** The difference of a store's clock from this gateway's. */
export interface ClockDifference {
  /** `Redis` or `Postgres`. */
  readonly clock: string;
  /** Negative if the store's clock is behind. */
  readonly aheadMs: number;
}

/** The memory of replies that wait for their clients, and of whole replies that arrive. */
export interface UnreadReplyStatus {
  readonly bytes: number;
  /** Number of replies that were cut because all of them took too much, since the start of this process. */
  readonly cut: number;
}

/** The calls of this process that have not ended. */
export interface CallsInFlight {
  readonly size: number;
  /** Of these, those whose client has left while their upstream goes on. */
  readonly left: number;
  /**
   * Returns the account of a call; undefined if the call does not run here, or has no key yet.
   * Searches all calls.
   */
  accountOf(callId: string): string | undefined;
}

/** A command, and the name of the plugin that adds it. */
interface PluginCommand {
  readonly plugin: string;
  readonly command: Command;
}
