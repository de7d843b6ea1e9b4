import type { MicroVnd } from "./amount.ts";

export type Awaitable<T> = T | Promise<T>;

/**
 * The hot store: balances, holds and the outbox of posted calls, in memory or in Redis.
 *
 * A hold takes money out of the available balance; a post turns a hold into a charge and appends it
 * to the outbox in the same atomic step; a void gives the hold back. Every step is idempotent by
 * call id, and none can take the available balance below zero. The embedded store answers
 * synchronously, so callers wait only where they are given a promise.
 *
 * For every wallet, at every instant: ledger balance = available + held + pending.
 */
export interface HotStore {
  /** Takes between `floor` and `amount` out of the available balance, whichever it affords. */
  hold(request: HoldRequest): Awaitable<HoldResult>;

  /** Raises a hold to `total`, or to what is affordable if that is at least `floor`. */
  extend(request: ExtendRequest): Awaitable<ExtendResult>;

  /**
   * Drops the hold, charges `costMicroVnd` and appends to the outbox. A cost above the hold takes
   * what is available; the rest is written off. Settled (durable against a kill of this process)
   * when the answer is there. A second post of one call changes nothing and answers the same.
   */
  post(posting: Posting): Awaitable<Posted>;

  /**
   * Posts several calls, for a store that takes many in one write: answers each as `post` would, in their order, with
   * the error of one that could not be posted. Callers with calls to post at one time then post them together.
   */
  postAll?(postings: readonly Posting[]): (Posted | Error)[];

  /** Gives a hold back. Nothing happens where there is none, or where the call was posted. */
  void(callId: string, accountId: string): Awaitable<void>;

  /**
   * Installs the wallet that `read` brings from the ledger, unless there is one already. The store
   * calls `read`, and not before every post of this account that it still knows has reached the
   * ledger: a reading taken earlier may or may not contain them. False where the ledger has no such account.
   */
  open(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean>;

  /**
   * Makes ledger movements other than calls (top-ups, adjustments) spendable. Idempotent and free
   * of order: only the difference between `creditedMicroVnd` and the total known before is applied,
   * and only where `creditVersion` is newer. A wallet that is not open is left alone, since opening reads
   * it; a wallet that is being opened gets the movement where the reading had missed it. A movement that
   * would take `available` below zero changes nothing: what it takes away must come as its own hold.
   */
  credit(movement: CreditTotal): Awaitable<void>;

  /** The three parts of a wallet, read in one step; undefined where it is not open. */
  balances(accountId: string): Awaitable<Balances | undefined>;

  /** The accounts of all open wallets, in pages; one may come twice. */
  openWallets(): AsyncIterable<readonly string[]>;

  /** From now on every hold with this key is refused, in every process. */
  revoke(keyId: string): Awaitable<void>;

  /** Takes a revocation back, for a key whose account was only suspended. */
  restore(keyId: string): Awaitable<void>;

  /** Up to `max` posted calls not yet acknowledged, oldest first; waits up to `waitMs` for one. */
  read(max: number, waitMs: number): Promise<OutboxEntry[]>;

  /** Forgets entries that the ledger has committed, and takes them out of `pending`. */
  acknowledge(entries: readonly OutboxEntry[]): Awaitable<void>;

  /** Posted calls that the ledger has not committed yet, as far as this process knows. */
  backlog(): number;

  /** Whether a call could be charged now. */
  health(): HotHealth;

  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `impaired`: some wallets cannot be charged at the moment; `away`: none can. */
export type HotHealth =
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
}

export type HoldResult =
  | { readonly kind: "held"; readonly amountMicroVnd: MicroVnd }
  | { readonly kind: "short"; readonly availableMicroVnd: MicroVnd }
  | { readonly kind: "revoked" }
  /** A credit has come since `creditVersion`, which may have earned the account another price. */
  | { readonly kind: "stale" }
  /** The post of this call could not be kept: the outbox or the journal is full, or the store is away. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The wallet is not open here: read it from the ledger, `open` it, ask again. */
  | { readonly kind: "unknown" };

export interface ExtendRequest {
  readonly callId: string;
  readonly accountId: string;
  /** The whole hold wanted afterwards; absolute, so that a repeated request changes nothing. */
  readonly totalMicroVnd: MicroVnd;
  readonly floorMicroVnd: MicroVnd;
}

export type ExtendResult =
  | { readonly kind: "held"; readonly amountMicroVnd: MicroVnd }
  | { readonly kind: "short"; readonly availableMicroVnd: MicroVnd }
  /** The hold lapsed or was posted: the call must not go on spending. */
  | { readonly kind: "gone" };

/** What is known of a call when it ends: its charge and its usage record. Never any content. */
export interface Posting {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Start of the call, milliseconds since the Unix epoch. */
  readonly at: number;
  /** Path of the endpoint, `/v1/messages`. */
  readonly endpoint: string;
  /** Catalogue id that served the call. */
  readonly model: string;
  /** Name the caller sent, where it was mapped. */
  readonly mappedFrom: string | null;
  readonly upstream: string | null;
  /** All input: cache reads and writes and images included. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** All output: reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly images: number;
  readonly costMicroVnd: MicroVnd;
  readonly discountBps: number;
  readonly latencyMs: number;
  /** Milliseconds to the first byte of the reply; null where none came. */
  readonly firstByteMs: number | null;
  /** HTTP status that the client got. */
  readonly status: number;
  readonly streamed: boolean;
  readonly outcome: CallOutcome;
  /** True where tokens were counted here because the provider did not report them. */
  readonly estimated: boolean;
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
  readonly pendingMicroVnd: MicroVnd;
}
