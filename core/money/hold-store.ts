import type { MicroVnd } from "../catalogue/amount.ts";
import type { DebitEntry, OutboxEntry, Posting, StoredEntry } from "./outbox-entry.ts";
import type { StandingCall } from "./standing.ts";

export type Awaitable<T> = T | Promise<T>;

/**
 * The hold store: balances, holds and the outbox of posted calls, in memory or in Redis.
 *
 * A hold takes money out of the available balance. A post turns a hold into a charge and appends it
 * to the outbox, in one atomic step. A void gives the hold back. Every step is idempotent by call
 * id, and none can take the available balance below zero. The embedded store returns synchronously,
 * so callers wait only if they get a promise.
 *
 * For every wallet, at every instant: ledger balance = available + held + uncommitted.
 */
export interface HoldStore {
  /**
   * Takes between `floor` and `amount` out of the wallet and out of every limit that the request
   * names: the most that all of them cover. One atomic step, all or nothing.
   */
  hold(request: HoldRequest): Awaitable<HoldResult>;

  /** Raises a hold to `total`, or to the most that is available if that is at least `floor`. */
  extend(request: ExtendRequest): Awaitable<ExtendResult>;

  /**
   * Drops the hold, charges `costMicroVnd` and appends to the outbox. A cost above the hold takes
   * what is available; the rest is written off. Durable against a kill of this process once it
   * returns. Idempotent by call id: returns the first result.
   */
  post(posting: Posting): Awaitable<Posted>;

  /**
   * Posts calls that end at the same time, with one write if the store can. Returns, for each in
   * order, what `post` would return, or the error that it would throw.
   */
  postAll(postings: readonly Posting[]): (Awaitable<Posted> | Error)[];

  /**
   * Charges a debit whole, or not at all, and appends it to the outbox, in one atomic step. Idempotent by its call id while
   * it is in the outbox. Rejects if the outcome is unknown.
   */
  debit(entry: DebitEntry): Awaitable<DebitResult>;

  /** Gives a hold back. Does nothing if there is no hold, or if the call was posted. */
  void(callId: string, accountId: string): Awaitable<void>;

  /**
   * Loads the wallet that `read` gets from the ledger, unless it is loaded already. The store calls
   * `read` only after every post of this account that it knows has reached the ledger: an earlier
   * reading may lack them. Returns false if the ledger has no such account.
   */
  load(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean>;

  /**
   * Applies ledger movements that add money, so that it can be spent. Idempotent, in any order: only the difference between
   * `creditedMicroVnd` and the total known before is applied, and only if `creditVersion` is newer.
   *
   * Does nothing to a wallet that is not loaded, since a load reads the movement. A wallet that is
   * being loaded gets the movement if the reading missed it. Returns false, and changes nothing, if
   * `available` would go below zero: some charges in quarantine are not covered yet.
   */
  credit(movement: CreditTotal): Awaitable<boolean>;

  /**
   * Sets a limit beside a loaded wallet, or changes its total. Idempotent, in any order: a known
   * limit changes by the difference of the totals, if `version` is newer. Returns false, and
   * changes nothing, if the wallet is not loaded: load it, then set the limit again.
   */
  setLimit(accountId: string, limit: LimitSnapshot): Awaitable<boolean>;

  /**
   * Forgets a limit. Returns false, and changes nothing, while calls are held against it. Never use
   * its name again: a hold that names it would load it without the charges that have not reached
   * the ledger yet.
   */
  dropLimit(accountId: string, name: string): Awaitable<boolean>;

  /** Returns the parts of a limit, read in one step; undefined if it is not set. */
  limit(accountId: string, name: string): Awaitable<LimitBalances | undefined>;

  /** Returns the three parts of a wallet, read in one step; undefined if it is not loaded. */
  balances(accountId: string): Awaitable<Balances | undefined>;

  /**
   * Returns the last movement that each loaded wallet and limit has, in pages of about a thousand.
   * A wallet may come twice. A wallet that is not loaded may come too, if a movement reached it.
   */
  loadedVersions(): AsyncIterable<readonly LoadedVersion[]>;

  /**
   * Refuses every later hold with this key of this account, in every process, until no process can
   * have the key in its cache.
   */
  revoke(keyId: string, accountId: string): Awaitable<void>;

  /** Undoes `revoke`, for a key whose account was only suspended. */
  restore(keyId: string, accountId: string): Awaitable<void>;

  /**
   * Returns up to `max` posted calls that are not acknowledged, oldest first. Waits up to `waitMs`
   * for one.
   */
  read(max: number, waitMs: number): Promise<StoredEntry[]>;

  /** Takes entries out of `uncommitted` that the ledger has committed, quarantined or, of debits, returned. */
  acknowledge(entries: readonly StoredEntry[]): Awaitable<void>;

  /**
   * The ledger refused to commit these entries with `MembershipEnded`: the store posts again what it has to. The embedded
   * store has no members.
   */
  refused?(entries: readonly StoredEntry[]): void;

  /** Returns how many posted calls are not in the ledger yet, as far as this process knows. */
  uncommittedCalls(): number;

  /** Returns the entry of an uncommitted call; undefined if this process has none. Searches all. */
  findUncommitted(callId: string): OutboxEntry | undefined;

  /**
   * Returns posts that only this process has, in its memory or in its spool, because the store could
   * not be reached: at least the oldest of each bucket. The embedded store has none.
   */
  unsent(): StandingCall[];

  /**
   * Returns how long the oldest posted call has waited for this process's disk, in ms. If it is too
   * long, holds are refused.
   */
  unsyncedMs(): number;

  /**
   * Yields all holds, in pages, and the oldest post of each outbox. With Redis: those of all
   * processes.
   */
  standing(): AsyncIterable<readonly StandingCall[]>;

  /** Says if a call could be charged now. */
  health(): HoldStoreHealth;

  /** True if the ledger lacks commits that it had confirmed. Every hold is refused until `restoreFromLedger`. */
  ledgerWentBack(): boolean;

  /**
   * Drops every wallet and loads it from the ledger again, then accepts that the ledger lost commits. Posted calls that are
   * not in the ledger are committed. If it rejects or the process dies, repeat it: holds stay refused until all of it is done.
   */
  restoreFromLedger(): Promise<RestoreResult>;

  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * `impaired`: some wallets cannot be charged now. `away`: none can. `cause` is a word for the
 * reason, for metrics: `redis_full`.
 */
export type HoldStoreHealth =
  | { readonly kind: "ok" }
  | { readonly kind: "impaired" | "away"; readonly reason: string; readonly cause: string };

export interface HoldRequest {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly amountMicroVnd: MicroVnd;
  readonly floorMicroVnd: MicroVnd;
  /**
   * The version of the wallet that the price was computed with. Returns `stale` if the wallet was
   * credited since. Omit to skip the check.
   */
  readonly creditVersion?: number;
  /**
   * Names of limits of the same account that this call counts against, in addition to the wallet.
   */
  readonly limits?: readonly string[] | undefined;
}

/** The name of the wallet among the limits of a call. */
export const WALLET_LIMIT = "wallet";

/** The wallet or a limit does not cover the floor. */
export interface Short {
  readonly kind: "short";
  /** The limit with the least available: `wallet`, or a name from the request. */
  readonly limit: string;
  /**
   * The amount that this limit has available. Below zero if the limit was lowered, or charged
   * beyond its holds.
   */
  readonly availableMicroVnd: MicroVnd;
}

export type HoldResult =
  | { readonly kind: "held"; readonly amountMicroVnd: MicroVnd }
  | Short
  | { readonly kind: "revoked" }
  /**
   * The wallet was credited since `creditVersion`, so the account may have earned another price.
   */
  | { readonly kind: "stale" }
  /**
   * The post of this call could not be stored: the outbox or the journal is full, or the store is
   * unreachable.
   */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The wallet is not loaded: `load` it, then hold again. */
  | { readonly kind: "unknown" }
  /** The wallet is loaded, but this limit is not set: read it, `setLimit`, then hold again. */
  | { readonly kind: "no_limit"; readonly limit: string };

export interface ExtendRequest {
  readonly callId: string;
  readonly accountId: string;
  /**
   * The whole hold after this step, not the increase, so that a repeated request changes nothing.
   */
  readonly totalMicroVnd: MicroVnd;
  readonly floorMicroVnd: MicroVnd;
}

export type ExtendResult =
  | { readonly kind: "held"; readonly amountMicroVnd: MicroVnd }
  | Short
  /** The hold expired or was posted: the call must stop spending. */
  | { readonly kind: "gone" };

export interface Posted {
  readonly chargedMicroVnd: MicroVnd;
  readonly writtenOffMicroVnd: MicroVnd;
  /** True if this call was posted before. */
  readonly duplicate: boolean;
}

export type DebitResult =
  /** `duplicate`: it is in the outbox already. */
  | { readonly kind: "posted"; readonly duplicate: boolean }
  | Short
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The wallet is not loaded. */
  | { readonly kind: "unknown" };

/** A wallet as the ledger has it. */
export interface WalletSnapshot {
  readonly accountId: string;
  readonly balanceMicroVnd: bigint;
  /** Rises by one with every movement other than a call. */
  readonly creditVersion: number;
  /** Sum of all movements that add money. */
  readonly creditedMicroVnd: bigint;
  /** Charges in quarantine that the balance does not cover. The next credits pay them first. */
  readonly uncoveredMicroVnd?: bigint;
  /** The limits beside the wallet, from the same reading. */
  readonly limits?: readonly LimitSnapshot[];
}

/** The last movement of the ledger that a wallet or a limit in the hold store has. */
export interface LoadedVersion {
  readonly accountId: string;
  /** Name of the limit; null for the wallet itself. */
  readonly limit: string | null;
  /** The version of the newest movement or change that is applied to the wallet or limit. */
  readonly version: number;
}

/**
 * A limit of an account beside its wallet, such as the budget of a key. The ledger supplies it with
 * the wallet.
 *
 * Holds and charges leave `available` of the wallet and of the limit alike; a void gives both back.
 * A limit does not stop a charge above the hold, so `available` may go below zero.
 */
export interface LimitSnapshot {
  /**
   * Unique in the account. The name of a budget by period includes the period: `key:<id>:2026-11`.
   */
  readonly name: string;
  /** Rises with every change of the total. */
  readonly version: number;
  readonly totalMicroVnd: MicroVnd;
  /** The total less every charge against this limit that is in the ledger. May be below zero. */
  readonly availableMicroVnd: MicroVnd;
}

/**
 * The parts of a limit. Their sum is what the ledger has left of it: available + held +
 * uncommitted.
 */
export interface LimitBalances {
  readonly totalMicroVnd: MicroVnd;
  /** The available amount. Below zero if the limit was lowered, or charged beyond its holds. */
  readonly availableMicroVnd: MicroVnd;
  readonly heldMicroVnd: MicroVnd;
  /** Charged, not in the ledger yet. */
  readonly uncommittedMicroVnd: MicroVnd;
}

export type CreditTotal = Pick<WalletSnapshot, "accountId" | "creditVersion" | "creditedMicroVnd">;

export interface Balances {
  readonly availableMicroVnd: MicroVnd;
  readonly heldMicroVnd: MicroVnd;
  /** Charged, not in the ledger yet. */
  readonly uncommittedMicroVnd: MicroVnd;
}

export type RestoreResult =
  | { readonly kind: "restored" }
  /** Calls that run here, or their posts, still use wallets. Nothing has changed; try again. */
  | { readonly kind: "busy"; readonly reason: string };
