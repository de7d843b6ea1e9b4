import type { UsageJson } from "../../../core/plugin/index.ts";
import type { LimitedKey } from "../../page-parts/browser/key-limits.ts";

/** Fields of the customer API's replies that these pages read. Amounts are decimal strings of đ. */

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly email_verified: boolean;
  /** Null until one was chosen: then that of the browser. */
  readonly language: "vi" | "en" | null;
  readonly created_at: string;
  readonly discount_bps: number;
  readonly csrf_token: string;
}

export type MessageKind =
  | "low-balance"
  | "budget"
  | "top-up"
  | "statement"
  | "prices"
  | "announcement";

/** The mails that a customer gets. */
export interface MessageSettings {
  readonly sends_mail: boolean;
  readonly kinds: readonly MessageKind[];
  readonly off: readonly MessageKind[];
  /** Null: the default. */
  readonly low_balance_vnd: string | null;
  readonly default_low_balance_vnd: string;
}

export interface Session {
  readonly id: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly remote_address: string | null;
  readonly user_agent: string | null;
  readonly current: boolean;
}

export interface SecondFactor {
  /** False if the gateway cannot encrypt secrets. */
  readonly available: boolean;
  readonly enabled_at: string | null;
  readonly recovery_codes_left: number;
}

export interface Key extends LimitedKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  /** The id of the member of the team who uses it; null if the owner does. */
  readonly member: string | null;
  readonly status: "active" | "revoked";
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly cost_vnd: string;
  readonly recoverable: boolean;
}

export interface KeyList {
  readonly data: readonly Key[];
  /** How many active keys the owner of a wallet may have, and each member of its team. */
  readonly active_keys_max: number;
}

/** A member of a team, or a person who is invited to it. */
export interface Member extends LimitedKey {
  readonly id: string;
  readonly email: string;
  readonly role: "manager" | "member";
  readonly state: "invited" | "active" | "paused" | "removed";
  readonly joined_at: string | null;
  readonly spent_today_vnd: string;
  readonly spent_month_vnd: string;
}

/** A member's place in a team. */
export interface Place extends Member {
  /** The id of the owner's account. */
  readonly team: string;
  readonly owner_email: string;
}

export interface NewKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly prefix: string;
}

export interface Wallet {
  readonly balance_vnd: string;
  readonly held_vnd: string;
  readonly available_vnd: string;
}

interface Bank {
  readonly name: string;
  readonly account_number: string;
  readonly account_name: string;
}

export interface TopUpSettings {
  readonly minimum_vnd: number | string;
  readonly maximum_vnd: number | string;
  readonly promotions: { readonly bonuses: readonly Bonus[] };
}

/** A bonus that the next top-up of this customer can earn today. */
export interface Bonus {
  readonly title: string;
  readonly last_day: string;
  readonly percent: number;
  readonly minimum_vnd: string;
  readonly bonus_max_vnd: string | null;
  readonly applies: "each_time" | "once_per_customer" | "first_top_up";
  readonly adds_up: boolean;
}

export interface RedeemedVoucher {
  readonly amount_vnd: string;
  readonly balance_vnd: string;
  /** False if the customer had redeemed it before. */
  readonly applied: boolean;
}

export interface TopUp {
  readonly id: string;
  readonly code: string;
  readonly status: string;
  readonly amount_vnd: number | string;
  readonly received_vnd: number | string;
  readonly missing_vnd: number | string;
  readonly bonus_vnd: string;
  /** Only of a single order: what a transfer of the missing amount would earn today. */
  readonly expected_bonus_vnd?: string;
  /** Only of a single order, oldest first. */
  readonly payments?: readonly {
    readonly amount_vnd: string;
    readonly bonus_vnd: string;
    readonly at: string;
  }[];
  readonly content: string;
  readonly bank: Bank;
  readonly qr_svg?: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly paid_at: string | null;
}

export interface Statement {
  readonly opening_vnd: string;
  readonly closing_vnd: string;
  /** Oldest first. */
  readonly rows: readonly StatementRow[];
  /** True if the oldest rows are missing. */
  readonly cut: boolean;
}

export interface StatementRow {
  /** Null for the charges of a day. */
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
  /** Of a transfer the code of its order, else why the operator moved money. */
  readonly reason: string | null;
  readonly calls: number;
  readonly amount_vnd: string;
  readonly balance_vnd: string;
}

/** The parties of a VAT invoice. */
export interface InvoiceParty {
  readonly name: string;
  readonly tax_code: string;
  readonly address: string;
}

/** A closed statement without its rows. */
interface ClosedStatement {
  /** `2026-10` */
  readonly month: string;
  readonly number: number;
  readonly opening_vnd: string;
  readonly closing_vnd: string;
  readonly digest: string;
  readonly previous_digest: string | null;
  readonly closed_at: string;
}

export interface Statements {
  /** Newest first. */
  readonly data: readonly ClosedStatement[];
  readonly buyer: InvoiceParty | null;
}

export interface ClosedRow {
  readonly day: string;
  readonly time_vietnam: string | null;
  readonly kind: StatementRow["kind"];
  readonly model: string | null;
  readonly calls: number | null;
  readonly amount_vnd: string;
  readonly balance_vnd: string;
  readonly note: string | null;
}

export interface WholeStatement extends ClosedStatement {
  /** Oldest first. */
  readonly rows: readonly ClosedRow[];
  /** True if the newest rows are missing; the files have them. */
  readonly cut: boolean;
  readonly row_count: number;
  readonly totals: { readonly charges_vnd: string; readonly refunds_vnd: string };
  readonly invoice: {
    readonly seller: InvoiceParty | null;
    readonly buyer: InvoiceParty | null;
    readonly total_vnd: string;
    readonly vat_percent: number | null;
    readonly net_vnd: string | null;
    readonly vat_vnd: string | null;
  };
}

export interface Promotions {
  /** All discounts together. */
  readonly discount_bps: number;
  /** The discount that the operator gave this account. */
  readonly account_bps: number;
  readonly lifetime: {
    readonly threshold_vnd: number | string;
    readonly total_vnd: number | string;
    readonly discount_bps: number;
    readonly active: boolean;
  };
  readonly daily: {
    readonly threshold_vnd: number | string;
    readonly today_vnd: number | string;
    readonly discount_bps: number;
    readonly active: boolean;
    readonly until: string;
  };
}

export interface CallRecord extends UsageJson<"page"> {
  readonly key_name: string | null;
}

/** One call with the steps of its charge. */
export interface CallDetail extends UsageJson<"api"> {
  readonly key_name: string | null;
  readonly calculation: Calculation;
}

/** Factors on a price by what is counted. */
export type Factors = NonNullable<UsageJson<"api">["factors"]>;

interface Calculation {
  readonly quantity: number;
  /** The parts of the quantity. */
  readonly parts: readonly {
    readonly kind: keyof Factors;
    readonly count: number;
    readonly factor: number;
  }[];
  readonly unit: "mtok" | "call" | "image";
  readonly unit_price_vnd: string;
  readonly list_vnd: string;
  /** Basis points by name. */
  readonly discounts: Readonly<Record<string, number>>;
  readonly discount_vnd: string;
  readonly fees_vnd: string;
  readonly written_off_vnd: string;
  readonly charged_vnd: string;
}

/** Calls that the gateway refused, which have no record. */
export interface Refused {
  readonly counts: readonly RefusedCount[];
  readonly last: readonly RefusedCall[];
}

export interface RefusedCount {
  readonly day: string;
  readonly key_name: string | null;
  readonly status: number;
  readonly cause: string;
  readonly calls: number;
}

export interface RefusedCall {
  readonly call_id: string;
  readonly at: string;
  readonly key_name: string | null;
  readonly endpoint: string;
  readonly model: string | null;
  readonly status: number;
  readonly cause: string;
}

export interface Total {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_vnd: string;
}

export interface Sum extends Total {
  readonly day?: string;
  readonly model?: string;
  readonly key?: string;
}

export interface Sums {
  readonly data: readonly Sum[];
  /** The sums of everything, including what `data` lacks. */
  readonly total: Total;
  /** True if the oldest days are missing in `data`. */
  readonly cut: boolean;
}

export interface Model {
  readonly id: string;
  readonly standard: "messages" | "chat" | "images" | "speech" | "embeddings";
  readonly channel: "standard" | "aws";
  readonly labels: readonly string[];
  readonly context_window: number | null;
  readonly max_input_tokens: number | null;
  readonly max_output_tokens: number | null;
  readonly price_unit: "mtok" | "call" | "image";
  readonly price_vnd: number;
  /** The factors on the price that are not 1. */
  readonly price_factors: Factors;
  /** An announced price, and the instant from which it counts. */
  readonly next_price:
    | (Pick<Model, "price_vnd" | "price_factors"> & { readonly from: string })
    | null;
}

export interface Catalogue {
  readonly models: readonly Model[];
  /** Ids of the models to list first. */
  readonly popular: readonly string[];
}

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next: string | null;
}

export interface CallPage extends Page<CallRecord> {
  /** The list lacks calls before this time, because their months are archived; null if none are. */
  readonly archived_before: string | null;
}
