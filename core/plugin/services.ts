import type { Accounts, Keys, OperatorActions } from "../accounts/index.ts";
import type { BodyThreads, ThreadLimits } from "../body/threads.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { Database } from "../database/database.ts";
import type { SchemaState } from "../database/migrate.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { CommitterStatus } from "../money/committer.ts";
import type { HoldStore, HoldStoreHealth } from "../money/hold-store.ts";
import type { PaceStatus } from "../money/pace.ts";
import type { Wallets } from "../money/wallet.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { StoreFault } from "../process/store-fault.ts";
import type { Workers } from "../process/workers.ts";
import type { UsageBooks } from "../usage/usage-books.ts";
import type { Wire } from "../wire/wire.ts";
import type { Config, Upstreams } from "./config.ts";
import type { Slots } from "./slot.ts";

/**
 * The services that core offers to plugins. Each plugin gets its own object, so that core knows which plugin filled a
 * slot.
 *
 * Config, catalogue, upstreams and the values of slots change on reload. They are getters: read them at each use, and
 * do not destructure them.
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
  /** Records of calls and their charges. */
  readonly usage: UsageBooks;
  /** The ledger's database, for tables that plugins own. Money moves only by the slot `wallets`. */
  readonly database: Database;
  readonly accounts: Accounts;
  /** The audit trail. `addOperatorRoutes` writes to it. */
  readonly operatorActions: OperatorActions;
  /** Reads wallets, at the hold store or else in the ledger. The slot `wallets` moves money. */
  readonly balances: Wallets["balances"];
  /** Reads purses, in the same way. */
  readonly purse: Wallets["purse"];
  /** Finds API keys by their text. Cached. */
  readonly keys: Keys;
  /** Limits calls per minute and calls at the same time, counted over all processes. */
  readonly rateLimiter: RateLimiter;
  /** Commands that plugins add to the operator's command line. Complete when `routes` runs. */
  readonly commands: readonly PluginCommand[];
  /** Reads the config's file again, and lists the prices in effect. */
  readonly reloads: Reloads;
  /** The calls of this process that have not ended. */
  readonly callsInFlight: CallsInFlight;
  /** The state of this process and of its stores, for metrics and readiness. */
  readonly status: GatewayStatus;
  /** The other processes that share the port, if there are any. */
  readonly workers: Workers;
  /** Threads for work on long bodies. */
  readonly bodyThreads: Pick<BodyThreads, "run" | "waiting">;
  /** Makes threads of a plugin's own, which its `stop` stops. */
  readonly newThreads: (limits: Partial<ThreadLimits>) => Pick<BodyThreads, "run" | "stop">;
  /** For each protocol: how to read and write its bodies and events. */
  readonly wires: Readonly<Record<Protocol, Wire>>;
  /** Fetches images that a request names by address. */
  readonly imageFetcher: ImageFetcher;
}

/** Reads the config's file again, in this process. */
export interface Reloads {
  /** Who or what caused the start or the last reload. */
  readonly cause: ReloadCause;
  /** Returns the prices and discounts of this instant, and the announced ones. */
  prices(): readonly PriceEntry[];
  /** Reads and checks the file. Nothing changes before `apply`. */
  read(): Promise<ReadConfig>;
}

/** An operator of the admin API as the audit trail names him, or a signal or `start` with the name of the host. */
export interface ReloadCause {
  readonly operator: string;
  readonly remoteAddress: string;
}

/** A config that was read, or sentences about what is wrong with it. */
export type ReadConfig =
  | {
      readonly ok: true;
      readonly models: number;
      readonly catalogueVersion: string;
      readonly prices: readonly PriceEntry[];
      /** Serves new calls with it. Resolves with the names of settings that need a restart; if it rejects, nothing has changed. */
      apply(cause: ReloadCause): Promise<readonly string[]>;
    }
  | { readonly ok: false; readonly problems: string };

/** An amount that customers pay, or a discount that they get. */
export interface PriceEntry {
  /** Null for what belongs to no model, such as a discount. */
  readonly model: string | null;
  /** `input`, `cached_input`, `per_call`, `web_search fee`, `lifetime`. */
  readonly kind: string;
  /** đ per 1,000,000 tokens, per call or per image; a discount in %; a factor on the price. */
  readonly unit: "đ" | "%" | "×";
  /** The instant from which an announced amount counts, as ISO 8601; null: it counts now. */
  readonly from: string | null;
  /** In millionths of the unit: µđ. */
  readonly millionths: number;
}

/** The state of this process, and of its stores as it sees them. Read it at each use. */
export interface GatewayStatus
  extends Pick<HoldStore, "uncommittedCalls" | "unsyncedMs" | "ledgerWentBack"> {
  /** True once it takes no more connections. Calls that run may take until `drain_seconds` to end. */
  readonly isStopping: boolean;
  /** Says if a call could be charged now. */
  holdStoreHealth(): HoldStoreHealth;
  /** Resolves if the ledger replies in time, else rejects. */
  pingLedger(timeoutMs: number): Promise<void>;
  /** Returns how the tables of each owner stand to this build: a later build may have changed them. */
  schema(): Promise<SchemaState[]>;
  /** Counts of the calls that this process has committed to the ledger. */
  readonly commits: CommitterStatus;
  /** The calls that wait because the ledger is slower than the calls. */
  readonly pace: PaceStatus;
  /** How far the clock of Postgres is ahead of this gateway's, measured every minute; undefined if it did not reply or is embedded. */
  readonly ledgerClockAheadMs: number | undefined;
  /** Faults of the stores, with which no gateway starts or which make failures worse, read every minute. */
  readonly storeFaults: readonly StoreFault[];
  /** The replies that wait for their clients to read them. */
  readonly unreadReplies: UnreadReplyStatus;
  /** Lines of the log that were lost: its disk was full, or its reader was slow or gone. */
  readonly lostLogLines: number;
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
  /** Returns the account of a call; undefined if the call does not run here, or has no key yet. Searches all calls. */
  accountOf(callId: string): string | undefined;
}

/** A command, and the name of the plugin that adds it. */
interface PluginCommand {
  readonly plugin: string;
  readonly command: Command;
}

export interface FetchedImage {
  readonly data: Buffer;
  /** Media type: `image/png`. */
  readonly type: string;
}

/** Fetches images that customers name by address, from public addresses unless the config allows others. */
export interface ImageFetcher {
  /** Returns the image, or a sentence that says why there is none. Never rejects. */
  fetch(address: string, of: ImageFetch): Promise<FetchedImage | string>;
}

/** The call that an image is fetched for. */
export interface ImageFetch {
  /** Ends the fetch. A server that sends slowly ends it by nothing else. */
  readonly signal: AbortSignal;
  /** Counts bytes of the image that have arrived. */
  received(bytes: number): void;
}

/**
 * A command that a plugin adds to `npm run admin -- …`: its words, its options, and the operator route that it calls.
 *
 * It is data alone. The command line fetches it from the running gateway, so it needs neither the plugin's code nor its
 * config, and works from another machine. It prints the JSON that the route returns.
 */
export interface Command {
  /** The words that call it, such as `team list`: lower-case letters and hyphens, unique among all commands. */
  readonly words: string;
  /** A description in one line, for `help`. */
  readonly about: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** The full path of the route. A part `:name` takes the value of the required option `name`. */
  readonly path: string;
  /** Options in the order of `help`. Options that are not in `path` go into the body, or into the query of a GET. */
  readonly options?: readonly CommandOption[];
  /** Names of options, exactly one of which must be given. */
  readonly oneOf?: readonly string[];
  /** Sent with every request, in addition to the options. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
  /**
   * It moves money, or changes prices: the route takes `confirm_above_vnd`, and refuses more, or any change of a price, with
   * a question. Then the command asks it. Adds the flag `--yes`, which is not asked.
   */
  readonly confirms?: boolean;
  /**
   * Fetches a list page by page. The route takes `limit`, from 1 to 1000, and `query`, whose value is `field` of the
   * last item so far. An option `limit` bounds the whole list.
   */
  readonly pages?: { readonly query: string; readonly field: string };
}

/** `--name VALUE` on the command line. In the request, underscores replace the hyphens of `name`. */
interface CommandOption {
  readonly name: string;
  /** The placeholder in `help`: `ID`. */
  readonly value?: string;
  /** A description in a few words, and a value as a shell takes it, for `help`. */
  readonly about?: string;
  readonly example?: string;
  readonly required?: boolean;
  /**
   * `number`: whole numbers are sent as numbers. Any other text is sent as it is, and the route refuses it. `flag`: has
   * no value; true is sent if it is given. `file`: the path of a file in UTF-8, whose text is sent.
   */
  readonly type?: "text" | "number" | "flag" | "file";
}
