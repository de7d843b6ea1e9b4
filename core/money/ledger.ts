import type { LoadedVersion, WalletSnapshot } from "./hold-store.ts";
import type { LedgerEpochs } from "./ledger-epochs.ts";
import type { LedgerHistory } from "./ledger-history.ts";
import type { Movement, ReadableEntry, StoredEntry } from "./outbox-entry.ts";
import type { UsageRecord } from "./usage-fields.ts";

/**
 * The ledger: the durable record of money, in Postgres: a server, or one of the gateway's own.
 *
 * Append-only: every movement of money is a row with the balance after it. The database itself
 * refuses a negative wallet, a second charge of one call, and an update or delete of a row.
 */
export interface Ledger {
  /** Shows if the ledger lost commits, for example because it was restored from a backup. */
  readonly history: LedgerHistory;
  /** The epochs of the hold store in Redis. */
  readonly epochs: LedgerEpochs;

  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves if the ledger replies within `timeoutMs`, else rejects. For readiness. */
  ping(timeoutMs: number): Promise<void>;

  /**
   * Commits charges and usage records of ended calls, in one transaction, idempotent by call id. Then debits, each in one,
   * idempotent by entry. Returns the ids of the debits that took nothing: the ledger has another movement under their
   * reference, or refuses them. Rejects with EntryRefused if the database will never take one of the entries, with
   * MembershipEnded if this gateway was removed from the epoch of one. After any other error, try again later.
   */
  commit(entries: readonly ReadableEntry[]): Promise<readonly string[]>;

  /**
   * Puts an entry that can never be committed into quarantine, for an operator to look at.
   * Idempotent by call id. Rejects with MembershipEnded as `commit` does.
   */
  quarantine(entry: StoredEntry, reason: string): Promise<void>;

  /** Returns how many entries are in quarantine. */
  quarantined(): Promise<number>;

  /** Returns entries in quarantine, oldest first. */
  quarantineList(limit: number): Promise<QuarantinedCall[]>;

  /** Returns a call in quarantine; undefined if it is not there. */
  quarantinedCall(callId: string): Promise<QuarantinedCall | undefined>;

  /**
   * Commits an entry from quarantine, once its cause is fixed, and removes it from quarantine, in
   * one transaction. Returns false if it is not in quarantine. Rejects, and changes nothing, with
   * EntryRefused if the ledger still refuses it, with EntryUnreadable if this version cannot read
   * it.
   */
  commitQuarantined(callId: string): Promise<boolean>;

  /** Returns true if this call is committed or in quarantine. */
  hasCall(call: { readonly callId: string; readonly at: number }): Promise<boolean>;

  /**
   * Records a movement that adds money: a top-up, an adjustment. Idempotent by `reference`: a
   * repetition changes nothing and returns `applied: false` with the wallet as it is. The same
   * reference with another account or amount is a conflict. `commit` records those that take money away.
   */
  credit(movement: Movement): Promise<CreditResult>;

  /**
   * Returns the time before which every movement has ended: can be seen, or never will. Later than
   * that, some may still be under way. Those of the last `statementTimeoutMs` may be under way too.
   */
  completeThrough(): Promise<number>;

  /**
   * Returns what `credit` returns for a repetition of this movement; undefined if its reference is
   * new. Waits for a transaction that is changing the wallet: it may be this movement's.
   */
  credited(movement: Movement): Promise<CreditResult | undefined>;

  /** Returns the sums of a wallet's top-ups: zeros if the account does not exist. */
  topUps(query: TopUpQuery): Promise<TopUpSums>;

  /**
   * Returns a wallet, for the hold store, less the charges in quarantine; undefined if the account
   * does not exist.
   */
  wallet(accountId: string): Promise<WalletSnapshot | undefined>;

  /**
   * Returns a purse of an account, for the hold store: a balance that begins at 0, and that each
   * charge of a call that names the purse lowers, those in quarantine too. Undefined only if the
   * account cannot exist.
   */
  purse(accountId: string, name: string): Promise<WalletSnapshot | undefined>;

  /** Returns the wallets of `loaded` that have a newer version in the ledger. */
  newerWallets(loaded: readonly LoadedVersion[]): Promise<WalletSnapshot[]>;

  /** Returns the wallets with movements from `sinceMs` on by the ledger's clock. */
  movedWallets(sinceMs: number): Promise<WalletSnapshot[]>;

  /** Returns records of calls, newest first. */
  usage(query: UsageQuery): Promise<UsageRecord[]>;

  /**
   * Returns the calls that pass all filters, newest first. Reads at most 20,000 calls of the account, or of all, and says
   * at which it stopped: to find rare ones takes several searches.
   */
  searchCalls(search: CallSearch): Promise<FoundCalls>;

  /** Returns the record of one call; undefined if it is not committed. */
  call(callId: string): Promise<UsageRecord | undefined>;

  /**
   * Returns, for each wallet, the sum of its ledger rows and its balance, in µđ. Then the same for
   * each purse, whose balance is below zero by what its calls were charged.
   *
   * Rows that `prove` has added up are not read again. All are equal unless an amount was changed by hand.
   */
  sums(): AsyncIterable<LedgerSum>;

  /**
   * Adds up the next ledger rows, some 100,000, for all later `sums`; with `isRestart`, from the
   * first row on. `sums` does it too, without progress.
   */
  prove(options?: { readonly isRestart?: boolean }): Promise<ProofProgress>;

  /**
   * Returns the sums of one wallet, or of one purse of it, as of one instant. Zeros for a purse that
   * was never charged.
   */
  sum(accountId: string, purse?: string | null): Promise<LedgerSum | undefined>;

  /** Returns those of these wallets and purses that the ledger does not have. */
  unknown(loaded: readonly LoadedVersion[]): Promise<LoadedVersion[]>;
}

/**
 * A batch has an entry that breaks a rule of the ledger: no such account, a balance below zero, a
 * value that no column takes. Do not retry the batch as it is. The other entries of the batch are
 * sound.
 */
export class EntryRefused extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`the ledger refuses a call: ${reason}`, options);
    this.name = "EntryRefused";
  }
}

/** This version of the gateway cannot read an entry, so it cannot commit it. */
export class EntryUnreadable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "EntryUnreadable";
  }
}

/**
 * One store has a movement, and the other one gets it in the background. Sent again, it counts once.
 */
export class MovementPending extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "MovementPending";
  }
}

export type CreditResult =
  | { readonly kind: "credited"; readonly applied: boolean; readonly wallet: WalletSnapshot }
  | { readonly kind: "no_account" }
  | { readonly kind: "reference_conflict" }
  | { readonly kind: "below_zero" }
  | { readonly kind: "out_of_range" };

export interface TopUpQuery {
  readonly accountId: string;
  /** Start of the period, included. `to` is excluded. */
  readonly from: Date;
  readonly to: Date;
  /** Counts only top-ups whose reference begins with this text; empty counts all. */
  readonly referencePrefix: string;
}

export interface TopUpSums {
  readonly totalMicroVnd: bigint;
  readonly periodMicroVnd: bigint;
}

export interface UsageQuery {
  readonly accountId: string;
  readonly limit: number;
  /** Only calls before this one, in the order of (at, call id), for paging. */
  readonly before?: CallCursor | undefined;
}

interface CallCursor {
  readonly at: Date;
  readonly callId: string;
}

/** Selects calls of all accounts: those from `from`, included, to `to`, excluded, that match every other field. */
export interface CallSearch extends Omit<UsageQuery, "accountId"> {
  readonly accountId?: string | undefined;
  /** State its account too: calls have no index by key alone. */
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** `-`: none. */
  readonly upstream?: string | undefined;
  /** `failed`: anything but 200, and replies that broke off. */
  readonly status?: number | "failed" | undefined;
  /** Only calls of which no one knows what they cost the operator; `below`: only those that cost more than they brought. */
  readonly cost?: "unknown" | "below" | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

export interface FoundCalls {
  readonly records: readonly UsageRecord[];
  /** The search goes on before this call; undefined if it has read all. */
  readonly next: CallCursor | undefined;
}

/** A posted call that the ledger refused, or an entry that could not be read. */
export interface QuarantinedCall {
  readonly entry: StoredEntry;
  /** Why it is in quarantine. */
  readonly reason: string;
  readonly since: Date;
}

/** How far the rows of the ledger are added up, by their ids. */
export interface ProofProgress {
  readonly provenThrough: bigint;
  /** The id of the newest row when this proof began. */
  readonly last: bigint;
  /** Only at the end: what kept the newest rows out of this proof. They are added up by each sum until it ends. */
  readonly heldUpBy?: OpenTransaction;
  readonly isDone: boolean;
}

/** A transaction that runs for long and may still write rows. Null: hidden from the role of the gateway. */
export interface OpenTransaction {
  /** The process of Postgres that runs it; null also if it is a prepared one. */
  readonly pid: number | null;
  /** The application that runs it, or the name of the prepared transaction. */
  readonly name: string | null;
  readonly since: Date | null;
}

export interface LedgerSum {
  readonly accountId: string;
  /** The name of a purse; null for the wallet. */
  readonly purse: string | null;
  /** Charges that the hold store has taken and the ledger has refused. */
  readonly quarantinedMicroVnd: bigint;
  readonly entriesMicroVnd: bigint;
  readonly balanceMicroVnd: bigint;
}

/** The sums of what the ledger does not have. */
export const NO_SUMS = { entriesMicroVnd: 0n, balanceMicroVnd: 0n, quarantinedMicroVnd: 0n };
