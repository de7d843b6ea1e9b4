import { matching, named, type Services, v, whole } from "../../core/plugin/index.ts";
import { buyerOf } from "./customers.ts";
import { party, type Terms } from "./invoice.ts";

const percent = whole(0, 100);
const PERCENT = "a whole number from 0 to 100, or a mapping of months to such numbers";

export const options = v.strictObject({
  /** The operator as the seller of VAT invoices. */
  seller: v.optional(party),
  /**
   * VAT that prices include, in percent: one number, or each with its first month, `{ "2025-07": 8, "2027-01": 10 }`. Default:
   * statements do not state it.
   */
  vat_percent: v.optional(
    v.union(
      [
        percent,
        named(
          percent,
          matching(/^20\d\d-(?:0[1-9]|1[0-2])$/, "a month, such as 2027-01"),
          "a mapping of months",
        ),
      ],
      PERCENT,
    ),
  ),
});

export type Options = v.InferOutput<typeof options>;

/** Returns the terms of the invoice for a month, by the config and the customer of this instant. */
export async function currentTerms(
  { database }: Services,
  { seller, vat_percent }: Options,
  { accountId, month }: { readonly accountId: string; readonly month: string },
): Promise<Terms> {
  const buyer = await buyerOf(database, accountId);
  const byMonth = typeof vat_percent === "number" ? { "": vat_percent } : (vat_percent ?? {});
  const last = Object.keys(byMonth)
    .filter((from) => from <= month)
    .sort()
    .at(-1);
  const percent = last === undefined ? undefined : byMonth[last];
  return { seller: seller ?? null, buyer: buyer ?? null, vat_percent: percent ?? null };
}
