import type { MicroVnd } from "../catalogue/amount.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { Discounts } from "../catalogue/discount.ts";
import type { Quantity, StatedFactors } from "../catalogue/price-factors.ts";

/**
 * Every field of a usage record, once. All else is derived from this table:
 *
 * - the types of a posted call and of a record;
 * - the outbox entry, and the select list of every query;
 * - the operator's JSON, the customer's JSON and the CSV columns;
 * - the type that the pages read.
 *
 * To add a field, write one line here and one migration that adds its column as nullable: records
 * and entries of the version before lack it. Then write the line that sets it (`plugins/settle/posting.ts`). If
 * it is in the CSV, add one text `column.NAME` per language.
 */

/** How a call ended. `refused`: by the gateway, or by the upstream with an error status. */
export type CallOutcome = "complete" | "left" | "exhausted" | "gone" | "broken" | "refused";

/**
 * For each kind of value: its type when a call is posted, in a record from the ledger, and in JSON.
 */
interface Values {
  id: { posted: string; read: string; json: string };
  /** Posted as milliseconds since the Unix epoch. */
  time: { posted: number; read: Date; json: string };
  text: { posted: string; read: string; json: string };
  /** Text from a caller: it may hold what Postgres cannot store. */
  sent: { posted: string; read: string; json: string };
  outcome: { posted: CallOutcome; read: string; json: string };
  unit: { posted: Price["unit"]; read: Price["unit"]; json: Price["unit"] };
  tokens: { posted: number; read: number; json: number };
  count: { posted: number; read: number; json: number };
  bps: { posted: number; read: number; json: number };
  ms: { posted: number; read: number; json: number };
  status: { posted: number; read: number; json: number };
  flag: { posted: boolean; read: boolean; json: boolean };
  /** Millionths; in JSON a decimal number. */
  quantity: { posted: Quantity; read: Quantity; json: number };
  factors: { posted: StatedFactors; read: StatedFactors; json: StatedFactors };
  /** µđ; in JSON a decimal string. */
  money: { posted: MicroVnd; read: bigint; json: string };
  discounts: { posted: Discounts; read: Discounts; json: Discounts };
  names: { posted: readonly string[]; read: readonly string[]; json: readonly string[] };
}

/**
 * The kinds of fields. Each has one column type in Postgres; the test of the ledger compares it
 * with the table.
 */
export type FieldKind = keyof Values;

/**
 * The outputs that show a field. `admin`: the operator's API. `api`: the customer's API. `csv`: the
 * export. `page`: the dashboard.
 */
type Place = "admin" | "api" | "csv" | "page";

interface UsageField {
  /** The column in `usage_records`, and the name in an outbox entry. */
  readonly column: string;
  readonly kind: FieldKind;
  /** The name in JSON and CSV, with its unit; the column's name if missing. */
  readonly json?: string;
  readonly places: readonly Place[];
  /** True if the field can be null. */
  readonly nullable?: true;
  /** True if the field is known only once the charge is made, after the call was posted. */
  readonly charged?: true;
}

const OPERATOR = ["admin"] as const;
const APIS = ["admin", "api"] as const;
const CUSTOMER = ["admin", "api", "csv"] as const;
const PAGE = ["admin", "api", "csv", "page"] as const;

/** The fields, in the order of the CSV columns. Add new fields at the end. */
const usageFields = {
  callId: { column: "call_id", kind: "id", places: PAGE },
  /** Start of the call. */
  at: { column: "at", kind: "time", places: PAGE },
  accountId: { column: "account_id", kind: "id", places: OPERATOR },
  /** Path of the endpoint, `/v1/messages`. */
  endpoint: { column: "endpoint", kind: "text", places: PAGE },
  /** Catalogue id of the model that served the call. */
  model: { column: "model", kind: "text", places: PAGE },
  /** The name that the caller sent, if it differs from `model`. */
  mappedFrom: { column: "mapped_from", kind: "sent", places: PAGE, nullable: true },
  keyId: { column: "key_id", kind: "id", places: PAGE },
  upstream: { column: "upstream", kind: "text", places: OPERATOR, nullable: true },
  /** HTTP status that the client got. */
  status: { column: "status", kind: "status", places: PAGE },
  outcome: { column: "outcome", kind: "outcome", places: PAGE },
  streamed: { column: "streamed", kind: "flag", places: PAGE },
  /** All input, including cache reads, cache writes and images. */
  inputTokens: { column: "input_tokens", kind: "tokens", places: PAGE },
  cacheReadTokens: { column: "cache_read_tokens", kind: "tokens", places: CUSTOMER },
  cacheWriteTokens: { column: "cache_write_tokens", kind: "tokens", places: CUSTOMER },
  /** All output, including reasoning. */
  outputTokens: { column: "output_tokens", kind: "tokens", places: PAGE },
  reasoningTokens: { column: "reasoning_tokens", kind: "tokens", places: CUSTOMER },
  images: { column: "images", kind: "count", places: CUSTOMER },
  /** The amount that the wallet paid: the cost less the written-off part. */
  chargedMicroVnd: {
    column: "charged",
    kind: "money",
    json: "cost_vnd",
    places: PAGE,
    charged: true,
  },
  /** The part of the cost that the wallet did not cover. */
  writtenOffMicroVnd: {
    column: "written_off",
    kind: "money",
    json: "written_off_vnd",
    places: CUSTOMER,
    charged: true,
  },
  /** The sum of all discounts, as applied. */
  discountBps: { column: "discount_bps", kind: "bps", places: PAGE },
  latencyMs: { column: "latency_ms", kind: "ms", places: PAGE },
  /** Time to the first byte of the reply; null if none came. */
  firstByteMs: { column: "first_byte_ms", kind: "ms", places: CUSTOMER, nullable: true },
  /** True if the gateway counted the tokens because the provider did not report them. */
  estimated: { column: "estimated", kind: "flag", places: PAGE },

  /** The unit that one `unitPriceMicroVnd` buys: 1,000,000 tokens, a call or an image. */
  unit: { column: "unit", kind: "unit", places: PAGE },
  /** µđ for one `unit`. */
  unitPriceMicroVnd: {
    column: "unit_price",
    kind: "money",
    json: "unit_price_vnd",
    places: PAGE,
  },
  /** The factors on the unit price that are not 1; null if there are none. */
  factors: { column: "factors", kind: "factors", places: PAGE, nullable: true },
  /**
   * Tokens, calls or images that were billed, each times its factor; null if these are all that the record counts (see
   * `tariff.ts`).
   */
  quantity: {
    column: "quantity_millionths",
    kind: "quantity",
    json: "quantity",
    places: CUSTOMER,
    nullable: true,
  },
  /** Each discount by its name; null if there was none. */
  discounts: { column: "discounts", kind: "discounts", places: CUSTOMER, nullable: true },
  /** Added to the discounted price; null if there are none. */
  feesMicroVnd: {
    column: "fees",
    kind: "money",
    json: "fees_vnd",
    places: CUSTOMER,
    nullable: true,
  },
  /** The catalogue that the price comes from. */
  catalogueVersion: { column: "catalogue_version", kind: "text", places: APIS },
  /** The purses, besides the wallet, that the call was charged to; null if there are none. */
  purses: { column: "purses", kind: "names", places: OPERATOR, nullable: true },
  /** The provider's bill to the operator for the call; null if that is not known. */
  providerCostMicroVnd: {
    column: "provider_cost",
    kind: "money",
    json: "provider_cost_vnd",
    places: OPERATOR,
    nullable: true,
  },
  /** The call's hold when it was posted; null if the record does not say. */
  heldMicroVnd: {
    column: "held",
    kind: "money",
    json: "held_vnd",
    places: OPERATOR,
    nullable: true,
  },
} as const satisfies Readonly<Record<string, UsageField>>;

type Fields = typeof usageFields;
type FieldName = keyof Fields;

type Nullable<Field, Value> = Field extends { nullable: true } ? Value | null : Value;
type Value<Name extends FieldName, As extends "posted" | "read" | "json"> = Nullable<
  Fields[Name],
  Values[Fields[Name]["kind"]][As]
>;
type JsonName<Field extends UsageField> = Field extends { json: infer Name extends string }
  ? Name
  : Field["column"];

/** A usage record from the ledger. */
export type UsageRecord = { readonly [Name in FieldName]: Value<Name, "read"> };

/** The part of a record that its customer may see: not the provider, nor what the operator paid. */
export type CustomerRecord = {
  readonly [Name in FieldName as "api" extends Fields[Name]["places"][number]
    ? Name
    : never]: UsageRecord[Name];
};

/** The names of fields that are known before the wallet is charged. */
type PostedName = {
  [Name in FieldName]: Fields[Name] extends { charged: true } ? never : Name;
}[FieldName];

/** The fields of a posted call. */
export type PostedUsage = { readonly [Name in PostedName]: Value<Name, "posted"> };

/** A record as JSON, as one place shows it. */
export type UsageJson<Where extends Place> = {
  readonly [Name in FieldName as Where extends Fields[Name]["places"][number]
    ? JsonName<Fields[Name]>
    : never]: Value<Name, "json">;
};

/** A field of the table, with its name. */
export type NamedField = UsageField & { readonly name: FieldName; readonly json: string };

/** All fields, in the order of the table. */
export const usageFieldList: readonly NamedField[] = Object.entries(usageFields).map(
  ([name, field]: [string, UsageField]) => ({
    json: field.column,
    ...field,
    name: name as FieldName,
  }),
);

/** Returns the fields that one place shows, in order. */
export function fieldsIn(place: Place): readonly NamedField[] {
  return usageFieldList.filter(({ places }) => places.includes(place));
}

/**
 * Returns the select list that reads fields under their names: `input_tokens::float8 as
 * "inputTokens", …`.
 */
export function usageColumns(fields: readonly NamedField[], table: string): string {
  return fields
    .map(({ column, kind, name }) => {
      // Without the cast, the client returns a BigInt, as it does for money.
      const cast = kind === "tokens" || kind === "quantity" ? "::float8" : "";
      return `${table}.${column}${cast} as "${name}"`;
    })
    .join(", ");
}
