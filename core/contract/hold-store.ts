import type { MicroVnd } from "./amount.ts";
import type { PostedUsage } from "./usage-fields.ts";

export type Awaitable<T> = T | Promise<T>;

/**
 * The hold store: balances, holds and the outbox of posted calls, in memory or in Redis.
 *
 * A hold takes money out of the available balance; a post turns a hold into a charge and appends it
 * to the outbox in the same atomic step; a void gives the hold back. Every step is idempotent by
 * call id, and none can take the available balance below zero. The embedded store answers
 * synchronously, so callers wait only where they are given a promise.
 *
 * For every wallet, at every instant: ledger balance = available + held + uncommitted.
 */
export interface HoldStore {
  /**
   * Takes between `floor` and `amount` out of the wallet and of every limit that the request names, the most that all
   * of them afford: one atomic step, all or nothing.
   */
  hold(request: HoldRequest): Awaitable<HoldResult>;

  /** Raises a hold to `total`, or to what is affordable if that is at least `floor`. */
  extend(request: ExtendRequest): Awaitable<ExtendResult>;

  /**
   * Drops the hold, charges `costMicroVnd` and appends to the outbox. A cost above the hold takes
   * what is available; the rest is written off. Durable against a kill of this process
   * when the answer is there. A second post of one call changes nothing and answers the same.
   */
  post(posting: Posting): Awaitable<Posted>;

  /**
   * Posts the calls that end at one time: with one write, if the store has one. Returns for each, in their order, what
   * `post` would return, or the error that it would throw.
   */
  postAll(postings: readonly Posting[]): (Awaitable<Posted> | Error)[];

  /** Gives a hold back. Nothing happens where there is none, or where the call was posted. */
  void(callId: string, accountId: string): Awaitable<void>;

  /**
   * Loads the wallet that `read` brings from the ledger, unless there is one already. The store
   * calls `read`, and not before every post of this account that it still knows has reached the
   * ledger: a reading taken earlier may or may not contain them. False where the ledger has no such account.
   */
  load(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean>;

  /**
   * Makes ledger movements other than calls (top-ups, adjustments) spendable. Idempotent and free
   * of order: only the difference between `creditedMicroVnd` and the total known before is applied,
   * and only where `creditVersion` is newer. A wallet that is not loaded is left alone, since a load reads
   * it; a wallet that is being loaded gets the movement if the reading had missed it. A movement that
   * would take `available` below zero changes nothing: what it takes away must come as its own hold.
   */
  credit(movement: CreditTotal): Awaitable<void>;

  /**
   * Sets a limit beside a wallet that is loaded, or changes its total. Idempotent and free of order: a limit that is
   * known changes by the difference of the totals, if `version` is newer. Returns false, and changes nothing, if
   * the wallet is not loaded: load it, then set the limit again.
   */
  setLimit(accountId: string, limit: LimitSnapshot): Awaitable<boolean>;

  /**
   * Forgets a limit. False, and nothing changes, while calls are held against it. Never use its name again: a hold that
   * names it would load it without the charges that are still on their way to the ledger.
   */
  dropLimit(accountId: string, name: string): Awaitable<boolean>;

  /** The parts of a limit, read in one step; undefined if it is not set. */
  limit(accountId: string, name: string): Awaitable<LimitBalances | undefined>;

  /** The three parts of a wallet, read in one step; undefined if it is not loaded. */
  balances(accountId: string): Awaitable<Balances | undefined>;

  /** The accounts of all loaded wallets, in pages; one may come twice. */
  loadedWallets(): AsyncIterable<readonly string[]>;

  /** From now on every hold with this key is refused, in every process. */
  revoke(keyId: string): Awaitable<void>;

  /** Takes a revocation back, for a key whose account was only suspended. */
  restore(keyId: string): Awaitable<void>;

  /** Up to `max` posted calls not yet acknowledged, oldest first; waits up to `waitMs` for one. */
  read(max: number, waitMs: number): Promise<OutboxEntry[]>;

  /** Forgets entries that the ledger has committed, and takes them out of `uncommitted`. */
  acknowledge(entries: readonly OutboxEntry[]): Awaitable<void>;

  /** Posted calls that the ledger has not committed yet, as far as this process knows. */
  uncommittedCalls(): number;

  /** The entry of one of them; undefined if this process has none. Searches them all. */
  findUncommitted(callId: string): OutboxEntry | undefined;

  /** Whether a call could be charged now. */
  health(): HoldStoreHealth;

  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `impaired`: some wallets cannot be charged at the moment; `away`: none can. */
export type HoldStoreHealth =
  | { readonly kind: "ok" }
  | { readonly kind: "impaired" | "away"; readonly reason: string };

export interface HoldRequest {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly amountMicroVnd: MicroVnd;
  readonly floorMicroVnd: MicroVnd;
  /**
   * The version of the wallet's movements that the price was made at; a wallet that has been credited since
   * answers `stale`. Without one any will do.
   */
  readonly creditVersion?: number;
  /** Names of limits of the same account that this call counts against, beside the wallet. */
  readonly limits?: readonly string[];
}

/** The name that a wallet has among the limits of a call. */
export const WALLET_LIMIT = "wallet";

/** A limit does not afford the floor. */
export interface Short {
  readonly kind: "short";
  /** The limit with the least available: `wallet`, or a name out of the request. */
  readonly limit: string;
  /** What is available of that limit. Below zero if it was lowered, or charged beyond its holds. */
  readonly availableMicroVnd: MicroVnd;
}

export type HoldResult =
  | { readonly kind: "held"; readonly amountMicroVnd: MicroVnd }
  | Short
  | { readonly kind: "revoked" }
  /** A credit has come since `creditVersion`, which may have earned the account another price. */
  | { readonly kind: "stale" }
  /** The post of this call could not be kept: the outbox or the journal is full, or the store is away. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The wallet is not loaded: `load` it, ask again. */
  | { readonly kind: "unknown" }
  /** The wallet is loaded, and this limit is not set beside it: read it, `setLimit`, ask again. */
  | { readonly kind: "no_limit"; readonly limit: string };

export interface ExtendRequest {
  readonly callId: string;
  readonly accountId: string;
  /** The whole hold wanted afterwards; absolute, so that a repeated request changes nothing. */
  readonly totalMicroVnd: MicroVnd;
  readonly floorMicroVnd: MicroVnd;
}

export type ExtendResult =
  | { readonly kind: "held"; readonly amountMicroVnd: MicroVnd }
  | Short
  /** The hold lapsed or was posted: the call must not go on spending. */
  | { readonly kind: "gone" };

/** What is known of a call when it ends: its charge and its usage record. Never any content. */
export interface Posting extends PostedUsage {
  /** What it comes to; the wallet may cover less. `limits` are those that its hold named. */
  readonly costMicroVnd: MicroVnd;
}

/** How a call that reached an upstream ended. */
export type CallOutcome = "complete" | "exhausted" | "gone" | "broken" | "refused";

export interface Posted {
  readonly chargedMicroVnd: MicroVnd;
  readonly writtenOffMicroVnd: MicroVnd;
  /** True where this call had been posted before. */
  readonly duplicate: boolean;
}

export interface OutboxEntry {
  /** Position in the outbox, as the store names it. */
  readonly entryId: string;
  readonly posting: Posting;
  readonly chargedMicroVnd: MicroVnd;
  readonly writtenOffMicroVnd: MicroVnd;
  /** All of it but its position, as `encodeEntry` has written it. */
  readonly text: string;
}

export interface WalletSnapshot {
  readonly accountId: string;
  readonly balanceMicroVnd: bigint;
  /** Rises by one with every movement other than a call. */
  readonly creditVersion: number;
  /** Sum of all movements other than calls. */
  readonly creditedMicroVnd: bigint;
  /** The limits that are set beside the wallet, of the same reading. */
  readonly limits?: readonly LimitSnapshot[];
}

/**
 * A limit of an account beside its wallet: the budget of a key, say. Its durable home supplies it with the wallet.
 *
 * Held and charged amounts leave `available`, of the wallet and the limit alike; a void gives both back. A charge above
 * the hold is not stopped by a limit: it is taken, and `available` may go below zero.
 */
export interface LimitSnapshot {
  /** Unique in the account. A budget by period has the period in its name: `key:<id>:2026-11`. */
  readonly name: string;
  /** Rises with every change of the total. */
  readonly version: number;
  readonly totalMicroVnd: MicroVnd;
  /** The total less every charge against this limit that is in the ledger; may be below zero. */
  readonly availableMicroVnd: MicroVnd;
}

/** In the ledger is left: available + held + uncommitted. */
export interface LimitBalances {
  readonly totalMicroVnd: MicroVnd;
  /** Below zero if the limit was lowered, or charged beyond its holds. */
  readonly availableMicroVnd: MicroVnd;
  readonly heldMicroVnd: MicroVnd;
  /** Charged but not yet committed in the ledger. */
  readonly uncommittedMicroVnd: MicroVnd;
}

export interface CreditTotal {
  readonly accountId: string;
  readonly creditVersion: number;
  readonly creditedMicroVnd: bigint;
  /**
   * The hold that set aside what this movement takes away, given up in the same step, so that
   * no call can spend the money in between; null for a movement that adds.
   */
  readonly releasedCallId: string | null;
}

export interface Balances {
  readonly availableMicroVnd: MicroVnd;
  readonly heldMicroVnd: MicroVnd;
  /** Charged but not yet committed in the ledger. */
  readonly uncommittedMicroVnd: MicroVnd;
}
