import { BASIS_POINTS } from "./amount.ts";

/** What an account pays less beside its own discount, and until when. */
export interface Discount {
  readonly bps: number;
  /** Milliseconds since the Unix epoch; Infinity: for ever. */
  readonly untilMs: number;
}

/** What the plugins that grant discounts say of an account. Rejects where it cannot be known at the moment. */
export type DiscountSource = (accountId: string) => Promise<readonly Discount[]>;

/** All discounts that are valid at an instant, added up: at most 100%. */
export function discountBpsAt(own: number, earned: readonly Discount[], nowMs: number): number {
  let bps = own;
  for (const discount of earned) if (nowMs < discount.untilMs) bps += discount.bps;
  return Math.min(bps, BASIS_POINTS);
}
