import { BASIS_POINTS } from "./amount.ts";

/** What an account pays less beside its own discount, and until when. */
export interface Discount {
  /** What usage records call it. */
  readonly name: string;
  readonly bps: number;
  /** Milliseconds since the Unix epoch; Infinity: for ever. */
  readonly untilMs: number;
}

/** Basis points by the names of the discounts that a price has. */
export type Discounts = Readonly<Record<string, number>>;

/** The name of an account's own discount. */
const OWN = "account";

/** What the plugins that grant discounts say of an account. Rejects where it cannot be known at the moment. */
export type DiscountSource = (accountId: string) => Promise<readonly Discount[]>;

/** All discounts that are valid at an instant, added up: at most 100%. */
export function discountBpsAt(own: number, earned: readonly Discount[], nowMs: number): number {
  let bps = own;
  for (const discount of earned) if (nowMs < discount.untilMs) bps += discount.bps;
  return Math.min(bps, BASIS_POINTS);
}

/** The same by name; null if there are none. */
export function discountsAt(
  own: number,
  earned: readonly Discount[],
  nowMs: number,
): Discounts | null {
  let parts: Record<string, number> | null = null;
  if (own > 0) parts = { [OWN]: own };
  for (const { name, bps, untilMs } of earned) {
    if (nowMs >= untilMs || bps <= 0) continue;
    parts ??= {};
    parts[name] = (parts[name] ?? 0) + bps;
  }
  return parts;
}
