import type { CustomerRecord } from "./usage-fields.ts";

/** What the ledger has recorded of calls, for those who show it. A call appears seconds after it ends. */
export interface UsageBooks {
  /**
   * Makes the indexes that `page` filters by, if they are not there. For the start of whoever calls `page`: they cost
   * each recorded call some time, so a gateway without such pages does not have them.
   */
  prepare(): Promise<void>;

  /** The newest calls of an account that pass the filter, older than the cursor, newest first. */
  page(query: UsagePage): Promise<CustomerRecord[]>;

  /** One call of an account; undefined if it has none of that id, or not yet. */
  call(accountId: string, callId: string): Promise<CustomerRecord | undefined>;

  /** Sums by day (in Vietnam), model, key or several of them. Its filter counts by whole days, and by no status. */
  sums(
    accountId: string,
    by: readonly UsageDimension[],
    filter: Omit<UsageFilter, "status">,
  ): Promise<UsageSum[]>;

  /** What each of these keys of the account was used for; those never used are missing. */
  byKey(accountId: string, keyIds: readonly string[]): Promise<KeyUsage[]>;
}

/** Which calls of an account: a period that ends before `to`, and what each must be. */
export interface UsageFilter {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  /** `ok`: 200; `failed`: anything else; or one status. */
  readonly status?: "ok" | "failed" | number | undefined;
}

/** Calls older than this one, in the order of (at, call id). */
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

/** With the dimensions that were asked for. */
export interface UsageSum {
  readonly day?: string;
  readonly model?: string;
  readonly key?: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargedMicroVnd: bigint;
}

export interface KeyUsage {
  readonly keyId: string;
  readonly chargedMicroVnd: bigint;
  /** Start of its latest call. */
  readonly lastUsedAt: Date;
}
