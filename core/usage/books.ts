import type { CustomerRecord } from "../money/usage-fields.ts";

/** Recorded calls and money, for plugins that show them. A call appears seconds after it ends. */
export interface UsageBooks {
  /** Statements by month that never change once they are closed. Only for a gateway that has called its `prepare`. */
  readonly months: MonthStatements;

  /**
   * Creates the indexes that `page` filters by, if they are missing. Call it in the `start` of a plugin that calls
   * `page`. They add to the cost of recording a call, so a gateway without such a plugin does not have them.
   */
  prepare(): Promise<void>;

  /** Returns the newest calls of an account that pass the filter and are older than the cursor, newest first. */
  page(query: UsagePage): Promise<CustomerRecord[]>;

  /**
   * Returns the instant before which `page` lacks calls of the account in this period, because the operator has
   * archived their months (UTC); undefined if none are archived. Sums have these calls.
   */
  archivedBefore(
    accountId: string,
    period: Pick<UsageFilter, "from" | "to">,
  ): Promise<Date | undefined>;

  /**
   * Returns the end of the archived months, if they have calls of the account on the day of this call's id; else
   * undefined. The ledger cannot say if the call was one of them.
   */
  archivedCall(accountId: string, callId: string): Promise<Date | undefined>;

  /** Returns one call of an account; undefined if the account has no such call, or it is not recorded yet. */
  call(accountId: string, callId: string): Promise<CustomerRecord | undefined>;

  /**
   * Returns sums by day (in Vietnam), model, key, or several of them, and the sum of all. The filter applies to whole
   * days. The time grows with the days: bound them. With a status it grows with the failed calls, and lacks those of
   * archived months.
   */
  sums(accountId: string, by: readonly UsageDimension[], filter: UsageFilter): Promise<UsageSums>;

  /**
   * Returns the calls of an account that the gateway refused itself. They appear within seconds, and the counts are
   * kept for 400 days. The filter applies to whole days.
   */
  refused(accountId: string, filter: UsageFilter): Promise<RefusedCalls>;

  /** Returns all money of an account from the day (in Vietnam) of `from` to the one before `to`. */
  statement(accountId: string, from: Date, to: Date): Promise<Statement>;

  /** Returns the use of each of these keys of the account. Keys that were never used are missing. */
  byKey(accountId: string, keyIds: readonly string[]): Promise<KeyUsage[]>;

  /** Creates the sums that `report` and `money` read, if they are missing. They add to the cost of recording a call. */
  prepareReport(): Promise<void>;

  /**
   * Returns sums over all accounts, of the days (in Vietnam) from `from` to `to`, both included, and of all of them: at
   * most `limit` rows. Call `prepareReport` before.
   */
  report(by: ReportDimension, from: string, to: string, limit: number): Promise<Report>;

  /** Returns the movements of money of these days, and what customers had left at their end. */
  money(from: string, to: string): Promise<MoneyReport>;

  /**
   * Returns how the calls of all accounts since a time ended, by model: of the newest 10,000 if there are more. Models
   * without calls are missing. Takes 20 ms: keep the result for a while.
   */
  health(since: Date): Promise<ModelHealth[]>;
}

export type ReportDimension = "day" | "model" | "provider" | "account" | "key";

/** Sums of calls. A call counts on the day on which it began. */
interface ReportTotal {
  readonly calls: number;
  /** Calls with another status than 200, and replies that broke off. */
  readonly failedCalls: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  readonly chargedMicroVnd: bigint;
  /** Calls whose cost is known, their charges, and their costs. */
  readonly costedCalls: number;
  readonly costedChargedMicroVnd: bigint;
  readonly providerCostMicroVnd: bigint;
  /** Calls that cost the operator more than they were charged, and the difference. */
  readonly belowCostCalls: number;
  readonly belowCostMicroVnd: bigint;
}

/** One sum, with what it is by. A key comes with its account. */
export interface ReportRow extends ReportTotal {
  readonly day?: string;
  readonly model?: string;
  /** Empty for calls without an upstream. */
  readonly provider?: string;
  readonly account?: string;
  readonly key?: string;
}

export interface Report {
  /** Days in their order; others begin with the largest charge. */
  readonly rows: readonly ReportRow[];
  /** The sum of everything, including what `rows` lacks. */
  readonly total: ReportTotal;
  readonly isCut: boolean;
}

/** Movements of a period by their kind in statements, and what customers had left at its end, in µđ. */
export interface MoneyReport
  extends Readonly<Record<Exclude<StatementRow["kind"], "charges">, bigint>> {
  readonly owed: bigint;
  /** Of `owed`, what is left of gifts (bonuses and vouchers), and the charges of the period that gifts paid: gifts are spent last. */
  readonly owedGifts: bigint;
  readonly giftsSpent: bigint;
}

/** How the calls of a model ended. */
export interface ModelHealth {
  readonly model: string;
  readonly calls: number;
  /** Of these, those that the provider or the gateway failed, and interrupted replies. */
  readonly failed: number;
}

/** Selects calls of an account: those from `from`, included, to `to`, excluded, that match every other field. */
export interface UsageFilter {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  /** `ok`: 200; `failed`: anything else; or one status. */
  readonly status?: "ok" | "failed" | number | undefined;
}

/** Selects calls older than this one, in the order of (at, call id). */
export interface UsageCursor {
  readonly at: Date;
  readonly callId: string;
}

export interface UsagePage {
  readonly accountId: string;
  readonly filter: UsageFilter;
  readonly limit: number;
  readonly before?: UsageCursor | undefined;
}

export type UsageDimension = "day" | "model" | "key";

interface UsageTotal {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargedMicroVnd: bigint;
}

/** One sum. `day`, `model` and `key` are set if the sum is by them. */
export interface UsageSum extends UsageTotal {
  readonly day?: string;
  readonly model?: string;
  readonly key?: string;
}

export interface UsageSums {
  /** Sums by day are in the order of the days; others begin with the largest charge. */
  readonly sums: readonly UsageSum[];
  /** The sum of everything that the filter selects, including what `sums` lacks. */
  readonly total: UsageTotal;
  /** True if there are more than 12,000 sums: `sums` lacks the oldest days, or the smallest charges. */
  readonly isCut: boolean;
  /** True if the sums are wrong, as a filter of statuses had to read more than 50,000 failed calls. */
  readonly lacksFailed: boolean;
}

export interface KeyUsage {
  readonly keyId: string;
  readonly chargedMicroVnd: bigint;
  /** Start of its latest call. */
  readonly lastUsedAt: Date;
}

/**
 * Calls that the gateway refused before an upstream was tried. They cost nothing and have no usage record, so these
 * counts show a customer why calls failed. Calls with a revoked key, or with one of a suspended account, count for that
 * account. Calls without a known key belong to none.
 */
export interface RefusedCalls {
  /** Counts by day (in Vietnam), key, status and cause; newest day first. None with a filter of models. */
  readonly counts: readonly RefusedCount[];
  /** Of the last 20 refused calls of the account those that pass the filter, newest first. */
  readonly last: readonly RefusedCall[];
}

export interface RefusedCount {
  readonly day: string;
  readonly keyId: string;
  readonly status: number;
  /** The code of the error, else the field at fault, else the type of the error. */
  readonly cause: string;
  readonly calls: number;
  readonly lastAt: Date;
}

export interface RefusedCall {
  /** The `x-request-id` of the reply. */
  readonly callId: string;
  readonly at: Date;
  readonly keyId: string;
  readonly endpoint: string;
  /** The model; null if the call was refused before its model was known. */
  readonly model: string | null;
  readonly status: number;
  readonly cause: string;
}

/**
 * All money of an account in a period, read from the ledger in one statement: opening + rows = closing, to the µđ.
 *
 * A movement counts at the time of its commit, a charge on the day (in Vietnam) on which its call began.
 */
export interface Statement {
  readonly openingMicroVnd: bigint;
  readonly closingMicroVnd: bigint;
  /** Oldest first; the charges of a day are its last row. */
  readonly rows: readonly StatementRow[];
  /** True if there are more than 5,000 movements; then `rows` lacks the oldest. Each balance is right. */
  readonly isCut: boolean;
}

export interface StatementRow {
  /** Of a movement: when it was committed; null for the charges of a day. */
  readonly at: Date | null;
  /** In Vietnam. */
  readonly day: string;
  /**
   * `transfer`: a bank transfer. `credit`: money that the operator added. `bonus`, `voucher`: a gift, or
   * what was taken back of one. `taken_back`: of a top-up. `refund`: of a
   * call. `adjustment`: another correction, of either sign. `charges`: all calls of the day.
   */
  readonly kind:
    | "transfer"
    | "credit"
    | "bonus"
    | "voucher"
    | "taken_back"
    | "refund"
    | "adjustment"
    | "charges";
  readonly amountMicroVnd: bigint;
  /** After this row. */
  readonly balanceMicroVnd: bigint;
  /** Of a transfer the code of its order, else why the operator moved money; null if unknown. */
  readonly reason: string | null;
  /** Of a movement: what names it in the ledger; null for charges. */
  readonly reference: string | null;
  /** Number of calls; 0 for a movement. */
  readonly calls: number;
}

/** The statement of an account for a month (in Vietnam) in which money moved. */
export interface MonthStatement {
  readonly accountId: string;
  /** Counts the statements of the account from 1. */
  readonly number: number;
  /** `2026-11` */
  readonly month: string;
  readonly openingMicroVnd: bigint;
  readonly closingMicroVnd: bigint;
  /** The digest of the statement before; null if this is the first. */
  readonly previousDigest: string | null;
}

export interface ClosedStatement extends MonthStatement {
  readonly digest: string;
  readonly closedAt: Date;
}

/** A movement, or the charges of a day and model between two movements. */
export interface MonthRow extends StatementRow {
  /** Of charges; empty if the operator has archived their records. */
  readonly model: string;
}

/** Makes, closes and reads statements by month. A ledger row counts in the month in which it was committed. */
export interface MonthStatements {
  /** Creates the tables, if they are missing. Call it first. */
  prepare(): Promise<void>;

  /**
   * Returns the month that the ledger is in, less the time that a transaction may take: all rows of the months before it
   * are committed.
   */
  current(): Promise<string>;

  /**
   * Returns the next accounts by their ids, and which of them have rows of a month before `current`. Begin with no
   * account; the list is empty after the last one.
   */
  due(current: string, after?: string): Promise<{ account: string; isDue: boolean }[]>;

  /**
   * Adds the next rows to the statement of an account. Returns `more` if there may be more, `none` if no month before
   * `current` has rows, else the whole statement, to be closed. Many processes may call it at once.
   */
  add(accountId: string, current: string): Promise<"none" | "more" | MonthStatement>;

  /** Closes a whole statement. Returns false if another process has closed it. */
  close(statement: MonthStatement, digest: string): Promise<boolean>;

  /** Drops a whole statement that cannot be closed: the next `add` makes it again of what the ledger has. */
  discard(statement: MonthStatement): Promise<void>;

  /**
   * Returns the rows of a statement, oldest first, in lists of some, so that no statement has to fit in memory. With
   * `mustAddUp`, throws if a balance is not that of the ledger.
   */
  rows(
    statement: MonthStatement,
    options?: { readonly mustAddUp: boolean },
  ): AsyncIterable<readonly MonthRow[]>;

  /** Returns the closed statements of an account, newest first. */
  list(accountId: string): Promise<ClosedStatement[]>;

  /** Returns a closed statement; undefined if there is none. */
  find(accountId: string, month: string): Promise<ClosedStatement | undefined>;

  /** Returns the closed statements of a month in the order of their accounts. */
  ofMonth(month: string, after?: string): Promise<ClosedStatement[]>;
}
