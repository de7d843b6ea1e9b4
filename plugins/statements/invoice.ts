import {
  formatVnd,
  MICRO_VND_PER_VND,
  mapping,
  matching,
  text,
  v,
} from "../../core/plugin/index.ts";

const TAX_CODE = "a tax code (MST) of 10 digits, of 10 and 3 such as 0100109106-001, or of 12";
const WEIGHTS = [31, 29, 23, 19, 17, 13, 7, 5, 3];

/** A party of a VAT invoice in Vietnam. */
export const party = mapping({
  name: v.pipe(text("a name"), v.maxLength(200, "a name of at most 200 characters")),
  tax_code: v.pipe(
    matching(/^(?:\d{10}(?:-?\d{3})?|\d{12})$/, TAX_CODE),
    v.check(isTaxCode, TAX_CODE),
    // Many write the code of a branch without its hyphen.
    v.transform((code) => code.replace(/^(\d{10})(\d{3})$/, "$1-$2")),
  ),
  address: v.pipe(text("an address"), v.maxLength(300, "an address of at most 300 characters")),
});

export type Party = v.InferOutput<typeof party>;

/** The parties and the VAT of an invoice, as the API has them. */
export interface Terms {
  readonly seller: Party | null;
  readonly buyer: Party | null;
  readonly vat_percent: number | null;
}

/** The sums of a month by the kinds of rows, in µđ. */
type Sums = Readonly<Record<string, bigint>>;

/**
 * Returns the data of the VAT invoice for a month, of what its calls cost, less refunds: in whole đ. Prices include VAT.
 */
export function invoiceJson(soldMicroVnd: bigint, { seller, buyer, vat_percent }: Terms) {
  return { seller, buyer, ...amountsJson(soldMicroVnd, vat_percent) };
}

/** Returns the amounts of a VAT invoice, in whole đ. */
export function amountsJson(soldMicroVnd: bigint, vat_percent: number | null) {
  const sold = divided(soldMicroVnd, BigInt(MICRO_VND_PER_VND));
  const net = vat_percent === null ? undefined : divided(sold * 100n, 100n + BigInt(vat_percent));
  return {
    total_vnd: String(sold),
    vat_percent,
    net_vnd: net === undefined ? null : String(net),
    vat_vnd: net === undefined ? null : String(sold - net),
  };
}

/** Returns the sums as a statement's file has them: decimal strings of đ. */
export function totalsJson(sums: Sums): object {
  const of = (kind: string) => formatVnd(sums[kind] ?? 0n);
  return {
    transfers_vnd: of("transfer"),
    credits_vnd: of("credit"),
    bonuses_vnd: of("bonus"),
    vouchers_vnd: of("voucher"),
    taken_back_vnd: of("taken_back"),
    refunds_vnd: of("refund"),
    adjustments_vnd: of("adjustment"),
    charges_vnd: of("charges"),
  };
}

/** Divides and rounds to the nearest whole number, half away from zero. */
function divided(amount: bigint, by: bigint): bigint {
  const half = amount < 0n ? -by / 2n : by / 2n;
  return (amount + half) / by;
}

/** The tenth digit of a company's code is a check of the others. A code of 12 digits is a person's. */
function isTaxCode(code: string): boolean {
  if (code.length === 12) return true;
  const sum = WEIGHTS.reduce((total, weight, at) => total + weight * Number(code[at]), 0);
  return 10 - (sum % 11) === Number(code[9]);
}
