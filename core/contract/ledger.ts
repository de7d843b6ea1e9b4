import type { LimitSnapshot, OutboxEntry, WalletSnapshot } from "./hold-store.ts";
import type { UsageRecord } from "./usage-fields.ts";

/**
 * The ledger: the durable truth, in Postgres or in an embedded PGlite behind the same SQL and client.
 *
 * Append-only: every movement of money is a row with the balance after it, and the database itself
 * refuses a negative wallet, a second charge of one call, and an update or delete of a row.
 */
export interface Ledger {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Answers within `timeoutMs`, or rejects: for readiness. */
  ping(timeoutMs: number): Promise<void>;

  /**
   * Charges and usage records of ended calls, in one transaction, idempotent by call id. Rejects with
   * EntryRefused where the database will never take one of them; with anything else, try again later.
   */
  commit(entries: readonly OutboxEntry[]): Promise<void>;

  /** Puts an entry aside that can never be committed, for a person to look at. Idempotent by call id. */
  quarantine(entry: OutboxEntry, reason: string): Promise<void>;

  /** How many entries were put aside. */
  quarantined(): Promise<number>;

  /** Entries that were put aside, oldest first. */
  quarantineList(limit: number): Promise<QuarantinedCall[]>;

  /** One of them; undefined if it is not there. */
  quarantinedCall(callId: string): Promise<QuarantinedCall | undefined>;

  /**
   * Commits an entry that was put aside, now that its cause is mended, and takes it out, in one transaction. False
   * where there is none; rejects with EntryRefused where the ledger refuses it still, and nothing has changed.
   */
  commitQuarantined(callId: string): Promise<boolean>;

  /** Whether this call has arrived: it is committed, or was put aside. */
  hasCall(call: { readonly callId: string; readonly at: number }): Promise<boolean>;

  /**
   * A movement other than a call: a top-up, an adjustment. Idempotent by `reference`: a repetition
   * changes nothing and answers `applied: false` with the wallet as it is. The same reference with
   * another account or amount is a conflict.
   */
  credit(movement: Credit): Promise<CreditResult>;

  /** What `credit` answers to a repetition of this movement; undefined where its reference is new. */
  credited(movement: Credit): Promise<CreditResult | undefined>;

  /**
   * Sets a limit beside a wallet, or adds to it; makes it if it is new. Idempotent by `reference`, as `credit` is. Calls
   * that name the limit are charged to it by `commit`.
   */
  changeLimit(change: LimitChange): Promise<LimitChangeResult>;

  /** Removes a limit; its name is never used again. False if there is none. */
  removeLimit(accountId: string, name: string): Promise<boolean>;

  /** What top-ups have brought into a wallet: zeros if there is no such account. */
  topUps(query: TopUpQuery): Promise<TopUpSums>;

  /** For the hold store, with its limits: what calls in quarantine have taken is not in it. */
  wallet(accountId: string): Promise<WalletSnapshot | undefined>;

  /** Newest first. */
  usage(query: UsageQuery): Promise<UsageRecord[]>;

  /** The record of one call; undefined if it was not committed. */
  call(callId: string): Promise<UsageRecord | undefined>;

  /**
   * Per wallet: the sum of its ledger rows beside its balance, both in µđ. Quick: the balance after its last row in
   * place of the sum, which is the same unless somebody has changed a row, and does not take longer every day.
   * After the wallets, the same for each limit: what its total and the records of its calls leave, beside what it has.
   */
  sums(isQuick?: boolean): AsyncIterable<LedgerSum>;

  /** The same for one wallet, or one limit of it, as of one instant. */
  sum(accountId: string, limit?: string | null): Promise<LedgerSum | undefined>;
}

/**
 * A batch holds an entry that breaks a rule of the ledger: no such account, a balance below zero, a
 * value that no column takes. Trying again cannot help; the other entries of the batch are sound.
 */
export class EntryRefused extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`the ledger refuses a call: ${reason}`, options);
    this.name = "EntryRefused";
  }
}

export interface Credit {
  readonly accountId: string;
  /** Negative for an adjustment that takes money away; refused where the wallet would go below zero. */
  readonly amountMicroVnd: bigint;
  readonly reference: string;
  readonly kind: "topup" | "adjustment";
  readonly reason: string | null;
}

export type CreditResult =
  | { readonly kind: "credited"; readonly applied: boolean; readonly wallet: WalletSnapshot }
  | { readonly kind: "no_account" }
  | { readonly kind: "reference_conflict" }
  | { readonly kind: "below_zero" }
  | { readonly kind: "out_of_range" };

/** A change of the total of a limit beside a wallet. */
export interface LimitChange {
  readonly accountId: string;
  /** As in `LimitSnapshot`. */
  readonly name: string;
  /**
   * `create`: the total of a limit that is new; changes nothing if it is there. `set`: the new total. `add`: a
   * difference, of a limit that is new from 0.
   */
  readonly kind: "create" | "set" | "add";
  /** Below zero for an `add` that lowers. The total stays from 0 to 2^53 − 1 µđ. */
  readonly amountMicroVnd: bigint;
  /** Unique among the changes of all limits. */
  readonly reference: string;
  readonly reason: string | null;
}

export type LimitChangeResult =
  | { readonly kind: "changed"; readonly applied: boolean; readonly limit: LimitSnapshot }
  | { readonly kind: "no_account" }
  | { readonly kind: "reference_conflict" }
  | { readonly kind: "below_zero" }
  | { readonly kind: "out_of_range" }
  /** The limit was removed, and its name cannot be used again. */
  | { readonly kind: "removed" }
  /** The account has 1,000 limits. */
  | { readonly kind: "too_many" };

export interface TopUpQuery {
  readonly accountId: string;
  /** The period: from this instant, to the one before `to`. */
  readonly from: Date;
  readonly to: Date;
  /** Counts only top-ups whose reference begins with it; all with an empty one. */
  readonly referencePrefix: string;
}

export interface TopUpSums {
  readonly totalMicroVnd: bigint;
  readonly periodMicroVnd: bigint;
}

export interface UsageQuery {
  readonly accountId: string;
  readonly limit: number;
  /** Only calls before this one in order of (at, call id): for paging. */
  readonly before?: { readonly at: Date; readonly callId: string };
}

export interface QuarantinedCall {
  readonly entry: OutboxEntry;
  /** Why the ledger has refused it. */
  readonly reason: string;
  readonly since: Date;
}

export interface LedgerSum {
  readonly accountId: string;
  /** The name of a limit beside the wallet; null for the wallet. */
  readonly limit: string | null;
  /** Charged where calls are held, and refused here. */
  readonly quarantinedMicroVnd: bigint;
  readonly entriesMicroVnd: bigint;
  readonly balanceMicroVnd: bigint;
}
