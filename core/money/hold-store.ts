import type { MicroVnd } from "../catalogue/amount.ts";
import type { DebitEntry, Posting, StoredEntry } from "./outbox-entry.ts";
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
   * Takes between `floor` and `amount` out of the wallet and out of every purse of the request: the
   * most that all of them cover. One atomic step, all or nothing.
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
   * Loads the wallet, or the purse of that name, that `read` gets from the ledger, unless it is
   * loaded already. The store calls `read` only after every post that it knows of it has reached the
   * ledger: an earlier reading may lack them. Returns false if the ledger has no such account.
   */
  load(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
    purse?: string,
  ): Promise<boolean>;

  /**
   * Forgets a wallet or a purse, so that its next call loads it from the ledger. Returns false, and changes nothing, while
   * a call holds or has posted money of it, or a load of it runs.
   */
  forget(accountId: string, purse: string | null): Awaitable<boolean>;

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
   * Returns the three parts of a wallet or of a purse, read in one step; undefined if it is not
   * loaded. A purse has less than 0 available: what was spent and is held.
   */
  balances(accountId: string, purse?: string | null): Awaitable<Balances | undefined>;

  /**
   * Returns the last movement that each loaded wallet has, and the loaded purses, in pages of about
   * a thousand. One may come twice. A wallet that is not loaded may come too, if a movement reached
   * it.
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

  /**
   * Takes entries out of `uncommitted` that the ledger has committed, quarantined or, of debits, returned. From its call on
   * `read` does not return them. Never rejects.
   */
  acknowledge(entries: readonly StoredEntry[]): Awaitable<void>;

  /**
   * The ledger refused to commit these entries with `MembershipEnded`: the store posts again what it has to. The embedded
   * store has no members.
   */
  refused?(entries: readonly StoredEntry[]): void;

  /** Returns how many posted calls are not in the ledger yet, as far as this process knows. */
  uncommittedCalls(): number;

  /** Returns the entry of an uncommitted call or debit; undefined if this process has none. */
  findUncommitted(callId: string): StoredEntry | undefined;

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
  /** Purses of the same account that this call counts against, in addition to the wallet. */
  readonly purses?: readonly Purse[] | undefined;
}

/**
 * Bounds what the calls that name it may spend together, in addition to the wallet: the budget of a
 * key in a month. A hold never takes more than its limit leaves; a charge above the hold may. Nothing
 * makes a purse: the stores keep what was spent of each name.
 */
export interface Purse {
  /**
   * Unique in the account, and of one period: `key:<id>:2026-11`. A call stays in the period of its
   * hold.
   */
  readonly name: string;
  /** The most that may be spent. Another limit counts from the next hold on. */
  readonly limitMicroVnd: MicroVnd;
}

/** The name of the wallet among the purses of a call. */
export const WALLET = "wallet";

/** The wallet or a purse does not cover the floor. */
export interface Short {
  readonly kind: "short";
  /** The purse with the least available: `wallet`, or a name from the request. */
  readonly purse: string;
  /**
   * The amount that this purse has available. Below zero if its limit was lowered, or if it was
   * charged beyond its holds.
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
  /** The wallet or a purse is not loaded: load them, then hold again. */
  | { readonly kind: "unknown" };

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

/** A wallet, or a purse, as the ledger has it. */
export interface WalletSnapshot {
  readonly accountId: string;
  /** Of a purse: 0 less every charge against it. */
  readonly balanceMicroVnd: bigint;
  /** Rises by one with every movement other than a call. */
  readonly creditVersion: number;
  /** Sum of all movements that add money. */
  readonly creditedMicroVnd: bigint;
  /** Charges in quarantine that the balance does not cover. The next credits pay them first. */
  readonly uncoveredMicroVnd?: bigint;
}

/** The last movement of the ledger that a wallet in the hold store has. */
export interface LoadedVersion {
  readonly accountId: string;
  /** Name of the purse; null for the wallet itself. */
  readonly purse: string | null;
  /** The version of the newest movement that is applied to the wallet; 0 for a purse. */
  readonly version: number;
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
