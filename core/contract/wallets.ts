import type { FoundCall } from "./found-call.ts";
import type {
  Awaitable,
  Balances,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  LimitBalances,
  Posted,
  Posting,
} from "./hold-store.ts";
import type { Credit, CreditResult, LimitChange, LimitChangeResult } from "./ledger.ts";

/** Wallets in both stores: the hold store for calls, the ledger for good. */
export interface Wallets {
  /** As the hold store's `hold`; loads the wallet from the ledger first if it is not there. */
  hold(request: HoldRequest): Awaitable<WalletHold>;
  extend(request: ExtendRequest): Awaitable<ExtendResult>;
  post(posting: Posting): Awaitable<Posted>;
  /**
   * For a post that was rejected, of a call whose reply has reached its client: keeps it in memory and posts it again
   * until a store has it. Its hold stays until then.
   */
  postLater(posting: Posting): void;
  void(callId: string, accountId: string): Awaitable<void>;
  /**
   * Commits a movement to the ledger, then makes it spendable. Rejects if a store is away; whatever had happened by
   * then, the same movement sent again completes it.
   */
  credit(movement: Credit): Promise<CreditResult>;
  /**
   * Makes a limit beside a wallet, sets its total, or adds to it. Committed to the ledger,
   * then applied to the hold store, as `credit`: idempotent by `reference`, and rejects if a store is away; the same
   * change sent again completes it. Rejects with a RangeError for a name that no limit can have.
   */
  changeLimit(change: LimitChange): Promise<LimitChangeResult>;
  /**
   * Removes a limit. Its name is never used again, and calls that name it get 503: stop naming it first. False if there
   * is none. What running calls hold of it stays until they end.
   */
  removeLimit(accountId: string, name: string): Promise<boolean>;
  /** What is left of a limit: from the hold store if it is loaded there, else from the ledger; undefined if there is none. */
  limit(accountId: string, name: string): Promise<LimitBalances | undefined>;
  /** The parts of a wallet: from the hold store if it is loaded there, else from the ledger; undefined without account. */
  balances(accountId: string): Promise<WalletBalances | undefined>;
  /**
   * A posted call: its record, or what will be its record. Undefined if there is none, or if another process has
   * posted it and it is not committed yet.
   */
  call(callId: string): Promise<FoundCall | undefined>;
  /** Every wallet and then every limit, its parts and its drift: the difference that should be 0, even under load. */
  reconcile(options?: { readonly isQuick?: boolean }): AsyncIterable<ReconcileRow>;
}

export type WalletHold =
  | Exclude<HoldResult, { kind: "unknown" | "no_limit" }>
  /** The ledger has no such account. */
  | { readonly kind: "no_account" };

export interface WalletBalances extends Balances {
  /** What the ledger has, or will have once all holds are given back: the sum of the three parts. */
  readonly balanceMicroVnd: number;
}

/**
 * One wallet, or one limit beside it: ledger sum = ledger balance = available + held + uncommitted, or the drift says by how
 * much not.
 */
export interface ReconcileRow {
  readonly accountId: string;
  /** The name of a limit beside the wallet, of which this is what is left; null for the wallet. */
  readonly limit: string | null;
  /** Sum of all ledger rows, µđ. */
  readonly ledgerSumMicroVnd: bigint;
  /** The balance that the ledger keeps beside them, µđ. */
  readonly balanceMicroVnd: bigint;
  readonly availableMicroVnd: bigint;
  readonly heldMicroVnd: bigint;
  readonly uncommittedMicroVnd: bigint;
  /** What the hold store has more than the ledger, else the balance more than the sum; 0 where all agree. */
  readonly driftMicroVnd: bigint;
}
