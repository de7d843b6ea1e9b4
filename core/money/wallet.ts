import type { MicroVnd } from "../catalogue/amount.ts";
import type { FoundCall } from "./found-call.ts";
import type {
  Awaitable,
  Balances,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  Posted,
} from "./hold-store.ts";
import type { CreditResult, TopUpQuery, TopUpSums } from "./ledger.ts";
import type { Movement, Posting } from "./outbox-entry.ts";

/**
 * Wallets in both stores: the hold store for calls, the ledger as the durable record. The only way to move money; every
 * step is idempotent.
 */
export interface Wallets {
  /**
   * Like the hold store's `hold`, but loads the wallet and the purses from the ledger first if they are not
   * loaded. Throws a RangeError for a purse that no call can have.
   */
  hold(request: HoldRequest): Awaitable<WalletHold>;
  extend(request: ExtendRequest): Awaitable<ExtendResult>;
  post(posting: Posting): Awaitable<Posted>;
  /**
   * Posts a call whose `post` was rejected after its reply had reached the client. Keeps it in
   * memory and retries until a store has it. Its hold stays until then.
   */
  postLater(posting: Posting): void;
  void(callId: string, accountId: string): Awaitable<void>;
  /**
   * Commits a movement to the ledger, then makes it spendable; one that takes money away takes it first. Rejects if a store
   * is unreachable; whatever was done by then, sending the same movement again completes it.
   */
  credit(movement: Movement): Promise<CreditResult>;
  /**
   * Returns what was spent of a purse and what running calls hold of it: from the hold store if it
   * is loaded there, else from the ledger. Zeros if nothing was ever spent.
   */
  purse(accountId: string, name: string): Promise<PurseBalances>;
  /**
   * Returns the parts of a wallet: from the hold store if it is loaded there, else from the ledger;
   * undefined if the account does not exist.
   */
  balances(accountId: string): Promise<WalletBalances | undefined>;
  /**
   * Returns the record of a posted call, or what will be its record. Undefined if there is none, or
   * if another process posted it and it is not committed yet.
   */
  call(callId: string): Promise<FoundCall | undefined>;
  /** Returns the sums of a wallet's top-ups: zeros if the account does not exist. */
  topUps(query: TopUpQuery): Promise<TopUpSums>;
}

export type WalletHold =
  | Exclude<HoldResult, { kind: "unknown" }>
  /** The ledger has no such account. */
  | { readonly kind: "no_account" };

export interface PurseBalances {
  /** Charged, in the ledger or not yet. */
  readonly spentMicroVnd: MicroVnd;
  readonly heldMicroVnd: MicroVnd;
}

export interface WalletBalances extends Balances {
  /**
   * The balance that the ledger will have once all calls are committed and all holds are void: the
   * sum of the three parts.
   */
  readonly balanceMicroVnd: number;
}

/**
 * One wallet, or one purse of it: ledger sum = ledger balance = available + held + uncommitted.
 * The drift is how much these differ.
 */
export interface ReconcileRow {
  readonly accountId: string;
  /** The name of a purse; null for the wallet itself. */
  readonly purse: string | null;
  /** Sum of all ledger rows, µđ. */
  readonly ledgerSumMicroVnd: bigint;
  /** The balance that the ledger stores beside these rows, µđ. */
  readonly balanceMicroVnd: bigint;
  readonly availableMicroVnd: bigint;
  readonly heldMicroVnd: bigint;
  readonly uncommittedMicroVnd: bigint;
  /**
   * How much the hold store has more than the ledger, else how much the balance exceeds the sum; 0
   * if all agree.
   */
  readonly driftMicroVnd: bigint;
}
