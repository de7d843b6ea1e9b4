/** The money that some ledger rows have moved. Amounts are in µđ, and exact: a wallet has at most 2^53. */
export interface Moved {
  /** The id to go on after. */
  readonly through: bigint;
  /** The accounts, with the balance of this instant. `entry`: the id of the last row. `isCharged`: for a call. */
  readonly wallets: readonly {
    readonly accountId: string;
    readonly entry: string;
    readonly isCharged: boolean;
    readonly balanceMicroVnd: number;
  }[];
  /** The purses that were charged, with all that they were ever charged. */
  readonly purses: readonly {
    readonly accountId: string;
    readonly name: string;
    readonly chargedMicroVnd: number;
  }[];
  /** Top-ups, credits, vouchers and bonuses, oldest first. `entry`: the id of the row. */
  readonly topUps: readonly {
    readonly accountId: string;
    readonly entry: string;
    readonly amountMicroVnd: number;
    readonly balanceMicroVnd: number;
    readonly kind: "transfer" | "credit" | "voucher" | "bonus";
    /** See `StatementRow`. */
    readonly reason: string | null;
  }[];
  /** Keys with a call that was refused for their budget in the last minutes, with the day in Vietnam. */
  readonly overBudget: readonly {
    readonly accountId: string;
    readonly keyId: string;
    readonly day: string;
  }[];
}

export type ReportDimension = "day" | "model" | "provider" | "account" | "key";

/**
 * The columns of the sums of calls. A call counts on the day on which it began. Failed: with another status than 200, or
 * broken off. Costed: whose cost is known. Below cost: that cost the operator more than they were charged, and the difference.
 */
export const REPORT_COUNTS = {
  calls: "calls",
  failedCalls: "failed_calls",
  inputTokens: "input_tokens",
  cacheReadTokens: "cache_read_tokens",
  cacheWriteTokens: "cache_write_tokens",
  outputTokens: "output_tokens",
  images: "images",
  costedCalls: "costed_calls",
  belowCostCalls: "below_cost_calls",
} as const;
export const REPORT_AMOUNTS = {
  chargedMicroVnd: "charged",
  costedChargedMicroVnd: "costed_charged",
  providerCostMicroVnd: "provider_cost",
  belowCostMicroVnd: "below_cost",
} as const;

type ReportTotal = Readonly<Record<keyof typeof REPORT_COUNTS, number>> &
  Readonly<Record<keyof typeof REPORT_AMOUNTS, bigint>>;

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

/** See `StatementRow`. */
export const MOVEMENT_KINDS = [
  "transfer",
  "credit",
  "bonus",
  "voucher",
  "taken_back",
  "refund",
  "adjustment",
] as const;

/** Movements of a period by their kind in statements, and what customers had left at its end, in µđ. */
export interface MoneyReport extends Readonly<Record<MovementKind, bigint>> {
  readonly owed: bigint;
  /** Of `owed`, what is left of gifts (bonuses and vouchers), and the charges of the period that gifts paid: gifts are spent last. */
  readonly owedGifts: bigint;
  readonly giftsSpent: bigint;
}

/** Selects movements of all accounts: of the days (in Vietnam) from `from` to `to`, both included, and of one kind. */
export interface MovementPage {
  readonly kind?: MovementKind | undefined;
  readonly from: string;
  readonly to: string;
  /** The id of the last ledger row of the page before. */
  readonly before?: bigint | undefined;
  readonly limit: number;
}

/** A movement of any account. `entry`: the id of its ledger row. */
export interface ShownMovement {
  readonly entry: string;
  readonly accountId: string;
  readonly at: Date;
  readonly kind: MovementKind;
  readonly amountMicroVnd: bigint;
  /** After it. */
  readonly balanceMicroVnd: bigint;
  readonly reference: string;
  readonly reason: string | null;
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
  /** A member of a team: the calls with the keys that he uses. */
  readonly member?: string | undefined;
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

type MovementKind = (typeof MOVEMENT_KINDS)[number];

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
  readonly kind: MovementKind | "charges";
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
  /** JSON of the plugin, as it was given when the statement was closed. */
  readonly invoice: string;
  readonly closedAt: Date;
}

/** A movement, or the charges of a day and model between two movements. */
export interface MonthRow extends StatementRow {
  /** Of charges; empty if the operator has archived their records. */
  readonly model: string;
}
