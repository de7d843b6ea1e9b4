import type { LimitedKey } from "../../page-parts/browser/key-limits.ts";

/** The replies of the admin API that pages read. Amounts are decimal strings of đ, times are in ISO. */

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly status: "active" | "suspended" | "closed";
  readonly discount_bps: number;
  readonly created_at: string;
}

export interface Wallet {
  readonly balance_vnd: string;
  readonly held_vnd: string;
  readonly available_vnd: string;
}

export interface Key extends LimitedKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly status: "active" | "revoked";
  readonly created_at: string;
  readonly revoked_at: string | null;
}

/** A key that was found, with its owner. */
export interface FoundKey extends Key {
  readonly account_id: string;
  readonly email: string | null;
}

export interface SignIn {
  readonly email_verified: boolean;
  readonly has_password: boolean;
  readonly second_factor: boolean;
  readonly sessions: readonly {
    readonly created_at: string;
    readonly seen_at: string;
    /** Null for a role that does not see who customers are. */
    readonly remote_address: string | null;
    readonly user_agent: string | null;
  }[];
}

export interface ClosedMonth {
  readonly month: string;
  readonly opening_vnd: string;
  readonly closing_vnd: string;
}

export interface Party {
  readonly name: string;
  readonly tax_code: string;
  readonly address: string;
}

export interface Statement extends ClosedMonth {
  readonly account_id: string;
  readonly number: number;
  readonly digest: string;
  readonly closed_at: string;
  readonly rows: readonly {
    readonly day: string;
    readonly kind: string;
    readonly model: string | null;
    readonly note: string | null;
    readonly calls: number | null;
    readonly amount_vnd: string;
    readonly balance_vnd: string;
  }[];
  readonly totals: Readonly<Record<string, string>>;
  readonly invoice: {
    readonly seller: Party | null;
    readonly buyer: Party | null;
    readonly total_vnd: string;
    readonly vat_percent: number | null;
    readonly net_vnd: string | null;
    readonly vat_vnd: string | null;
  };
}

export interface Call {
  readonly call_id: string;
  readonly at: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly endpoint: string;
  readonly model: string;
  readonly mapped_from: string | null;
  readonly upstream: string | null;
  readonly status: number;
  readonly outcome: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_vnd: string;
  readonly written_off_vnd: string;
  readonly provider_cost_vnd: string | null;
  readonly latency_ms: number;
  readonly first_byte_ms: number | null;
}

/** A call that runs, with its hold; or one that the gateway refused, with the cause. */
export interface OpenCall {
  readonly state: "in_flight" | "refused";
  readonly call_id: string;
  readonly account_id: string;
  readonly email: string | null;
  readonly held_vnd?: string;
  readonly since?: string;
  readonly at?: string;
  readonly key_id?: string;
  readonly endpoint?: string;
  readonly model?: string | null;
  readonly status?: number;
  readonly cause?: string;
}

export interface CallStory extends Call {
  readonly state: "recorded" | "pending" | "quarantined";
  readonly email: string | null;
  readonly held_vnd: string | null;
  readonly purses: readonly string[] | null;
  readonly reason?: string;
  readonly recomputed_vnd: string;
  readonly is_equal: boolean;
  readonly calculation: {
    readonly formula: string;
    readonly list_vnd: string;
    readonly discount_vnd: string;
  };
  /** Its row in the ledger; null if it cost nothing, or is not there yet. */
  readonly ledger: {
    readonly entry: string;
    readonly at: string;
    readonly balance_after_vnd: string;
  } | null;
  readonly refunded_vnd: string;
}

export interface Refused {
  readonly call_id: string;
  readonly at: string;
  readonly key_id: string;
  readonly endpoint: string;
  readonly model: string | null;
  readonly status: number;
  readonly cause: string;
}

export interface WholeAccount extends Account {
  readonly discounts: readonly {
    readonly name: string;
    readonly bps: number;
    readonly until: string | null;
  }[];
  readonly wallet: Wallet | undefined;
  readonly keys: readonly Key[];
  readonly last_calls: readonly Call[];
  readonly last_refused: readonly Refused[];
}

export interface Movement {
  readonly at: string | null;
  readonly day: string;
  readonly kind:
    | "transfer"
    | "credit"
    | "bonus"
    | "voucher"
    | "taken_back"
    | "refund"
    | "adjustment"
    | "charges";
  readonly amount_vnd: string;
  readonly balance_vnd: string;
  readonly reason: string | null;
  readonly reference: string | null;
  readonly calls: number;
}

/** A movement in the list of all customers. */
export interface ListedMovement {
  readonly entry: string;
  readonly at: string;
  readonly kind: Exclude<Movement["kind"], "charges">;
  readonly amount_vnd: string;
  readonly email: string | null;
  readonly reference: string;
  readonly reason: string | null;
  readonly balance_vnd: string;
  readonly account_id: string;
}

export interface Ledger {
  readonly opening_vnd: string;
  readonly closing_vnd: string;
  readonly rows: readonly Movement[];
  readonly cut: boolean;
}

/** Sums of calls. Cost and margin are null if no cost is known. */
interface Sums {
  readonly revenue_vnd: string;
  readonly cost_vnd: string | null;
  readonly margin_vnd: string | null;
  readonly margin_percent: number | null;
  readonly calls: number;
  readonly failed_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly unknown_cost_calls: number;
  readonly below_cost_calls: number;
  readonly below_cost_vnd: string;
}

export interface SumsRow extends Sums {
  readonly day?: string;
  readonly model?: string;
  readonly provider?: string | null;
  readonly email?: string | null;
  readonly key_name?: string | null;
  readonly account_id?: string;
  readonly key_id?: string;
}

export interface Report {
  readonly cut: boolean;
  readonly total: readonly [Sums];
  readonly rows: readonly SumsRow[];
}

export interface MoneyReport extends Sums {
  readonly from: string;
  readonly to: string;
  readonly transfers_vnd: string;
  readonly credits_vnd: string;
  readonly bonuses_vnd: string;
  readonly vouchers_vnd: string;
  readonly refunds_vnd: string;
  readonly owed_vnd: string;
  readonly owed_gifts_vnd: string;
}

/** A batch of vouchers. */
export interface VoucherBatch {
  readonly id: string;
  readonly note: string;
  readonly state: "waiting" | "open" | "planned" | "ended" | "cancelled";
  readonly amount_vnd: string;
  readonly codes: number;
  readonly uses: number;
  readonly redeemed: number;
  readonly credited_vnd: string;
  readonly once_per_customer: boolean;
  readonly first_day: string;
  readonly last_day: string;
}

export interface WholeVoucherBatch extends VoucherBatch {
  readonly redemptions: readonly {
    readonly sequence: number;
    readonly account: string;
    readonly email: string | null;
    readonly prefix: string;
    readonly redeemed_at: string;
    readonly credited_at: string | null;
  }[];
}

export interface Transfer {
  readonly id: string;
  readonly sequence: number;
  readonly reference: string;
  readonly state: "matched" | "credited" | "unmatched" | "ignored" | "returned";
  readonly cause: string;
  readonly direction: "in" | "out" | null;
  readonly amount_vnd: string | null;
  readonly account: string | null;
  readonly order: string | null;
  readonly bank: string | null;
  readonly content: string | null;
  readonly bank_reference: string | null;
  readonly bank_time: string | null;
  readonly alike: string | null;
  readonly received_at: string;
  readonly decision: string | null;
}

export interface Upstream {
  readonly name: string;
  readonly kind: string;
  readonly switched_off: readonly string[];
  readonly breaker: string;
  readonly routes: readonly {
    readonly model: string;
    readonly name: string;
    readonly priority: number;
    readonly weight: number;
    readonly share_percent: number;
  }[];
  readonly breakers: readonly {
    readonly model: string | null;
    readonly breaker: string;
    readonly failures: number;
    readonly last_failure: Failure | null;
  }[];
  readonly keys: readonly {
    readonly key: string | null;
    readonly switched: "on" | "off";
    readonly last_used: string | null;
    readonly failures: number;
    readonly last_failure: Failure | null;
    readonly rests: readonly {
      readonly model?: string;
      readonly cause: string;
      readonly wakes_in_ms: number;
    }[];
  }[];
}

interface Failure {
  readonly at: string;
  readonly reason: string;
}

/** Counts of calls, or of the attempts at an upstream: a row by time, by upstream or by cause. */
export interface Traffic<Row> {
  readonly from: string;
  readonly to: string;
  readonly cut: boolean;
  readonly rows: readonly Row[];
}

export interface TimeRow {
  readonly at: string;
  readonly upstream?: string;
  readonly served: number;
  readonly failed: number;
  readonly refused: number;
}

export interface UpstreamRow {
  readonly upstream: string;
  readonly served: number;
  readonly failed: number;
  readonly uptime_percent: number | null;
  readonly first_byte_p50_ms: number | null;
  readonly first_byte_p99_ms: number | null;
  readonly failures_by_cause: Readonly<Record<string, number>>;
}

export interface CauseRow {
  readonly upstream?: string;
  readonly cause: string;
  readonly calls: number;
  readonly last_at: string;
}

export interface Server {
  readonly host: string;
  readonly address: string;
  readonly build: string;
  readonly catalogue: string;
  readonly config: string;
  readonly since: string;
  readonly seen_at: string;
  readonly is_asked: boolean;
  readonly differs: readonly string[];
  readonly is_late: boolean;
  readonly schema_problem: string | null;
}

export interface Quarantined {
  readonly call_id: string;
  readonly account_id: string | null;
  readonly at: string | null;
  readonly model: string | null;
  readonly cost_vnd: string;
  readonly reason: string;
  readonly since: string;
}

export interface Maintenance {
  readonly enabled: boolean;
  readonly message: string | null;
}

export interface Suggestion {
  readonly why: readonly ("exact_code" | "code" | "amount" | "payer")[];
  readonly account: string;
  readonly email: string | null;
  readonly order: string | null;
  readonly amount_vnd: string | null;
  readonly status: Order["status"] | null;
}

export interface WholeTransfer extends Transfer {
  readonly payload: string | null;
}
export interface Action {
  readonly id: string;
  readonly at: string;
  readonly operator: string;
  /** In the language that was asked for. */
  readonly sentence: string;
  readonly remote_address: string;
  readonly action: string;
  readonly account_id: string | null;
  readonly reason: unknown;
  readonly details: Readonly<Record<string, unknown>>;
  readonly status: number | null;
}

export interface Model {
  readonly id: string;
  readonly standard: string;
  readonly offered: boolean;
  readonly price_vnd: number;
  readonly price_unit: "mtok" | "call" | "image";
  readonly price_factors: Readonly<Record<string, number>>;
  readonly routes: readonly { readonly upstream: string; readonly model: string }[];
  readonly catalogue: string;
}

export interface Hold {
  readonly call_id: string | null;
  readonly movement: string | null;
  readonly account_id: string | null;
  readonly amount_vnd: string;
  readonly since: string;
}

export interface Order {
  readonly id: string;
  readonly code: string;
  readonly account: string;
  readonly status: "open" | "paid" | "underpaid" | "overpaid" | "expired" | "cancelled";
  readonly amount_vnd: string;
  readonly received_vnd: string;
  readonly created_at: string;
}

export interface PriceChange {
  readonly model: string | null;
  readonly kind: string;
  readonly change: "new" | "gone" | "changed" | "announced" | "withdrawn";
  readonly from: string | null;
  readonly to: string | null;
  readonly unit: string;
  readonly percent: number | null;
  readonly takes_effect: string | null;
}

export interface RecordedPrice extends PriceChange {
  readonly id: string;
  readonly at: string;
  readonly operator: string;
  readonly remote_address: string;
}

export interface Reloaded {
  readonly applied: boolean;
  readonly models: number;
  readonly catalogue_version: string;
  readonly needs_restart: readonly string[];
  readonly changes: readonly PriceChange[];
  readonly announcement_vi?: string;
  readonly announcement_en?: string;
}

export interface Reconciled {
  readonly drift: boolean;
  readonly wallets: number;
  readonly purses: number;
  readonly overdue: number;
  readonly rows: readonly {
    readonly account_id: string;
    readonly purse: string | null;
    readonly ledger_sum_vnd: string;
    readonly balance_vnd: string;
    readonly drift_vnd: string;
  }[];
}

export interface Drift {
  readonly cause: string;
  readonly difference_vnd: string;
  readonly can_be_mended: boolean;
  readonly next: string;
  readonly proven_vnd: string | null;
  readonly balance_vnd: string;
  readonly rows_vnd: string;
  readonly loaded_vnd: string;
  readonly quarantined_vnd: string;
  readonly last_row_vnd?: string;
  readonly broken_rows?: number;
  readonly added_by_rows_vnd?: string;
  readonly added_by_sums_vnd?: string;
  readonly taken_by_rows_vnd?: string;
  readonly charged_by_rows_vnd?: string;
  readonly charged_by_usage_vnd?: string;
}

export interface ArchivedMonth {
  readonly month: string;
  readonly state: "open" | "closed" | "detached" | "dropped";
  readonly rows: number;
  readonly bytes: number;
  readonly can_be_archived: boolean;
}

export interface Backup {
  readonly at: string;
  readonly is_old: boolean;
  readonly bytes: number;
}

type Values = Readonly<Record<string, string | number | null>>;

export interface System {
  readonly process: Values;
  readonly clocks: readonly { readonly clock: string; readonly ahead_ms: number }[];
  readonly faults: readonly {
    readonly store: string;
    readonly setting: string;
    readonly breaks: boolean;
    readonly advice: string;
  }[];
  readonly gauges: readonly {
    readonly name: string;
    readonly value: number | null;
    readonly about: string;
  }[];
  readonly config: Values;
}

export interface Secret {
  readonly secret: string;
  readonly from: string;
  readonly age_days: number | null;
  readonly overlap: boolean;
  readonly takes_effect: "restart" | "reload";
  readonly used_by: string;
  readonly change: string;
  readonly commands: string;
}

export interface Upgrade {
  readonly build: string;
  readonly folder: string;
  readonly works: boolean;
  readonly state: string;
  readonly back_works: string;
  readonly upgrade: string;
  readonly back: string;
}
