import { BASIS_POINTS } from "./amount.ts";

/** A discount that a plugin grants to an account, in addition to the account's own. */
export interface Discount {
  /** The discount's name in usage records. */
  readonly name: string;
  /** 100 = 1%. */
  readonly bps: number;
  /** When the discount ends, in milliseconds since the Unix epoch; Infinity if it does not end. */
  readonly untilMs: number;
}

/** The discounts of a price: basis points by name. */
export type Discounts = Readonly<Record<string, number>>;

const OWN = "account";

/** Returns the discounts that a plugin grants to an account. Rejects if it cannot know them now. */
export type DiscountSource = (accountId: string) => Promise<readonly Discount[]>;

/** Returns the sum of all discounts that are valid at `nowMs`, in basis points: at most 10,000. */
export function discountBpsAt(own: number, earned: readonly Discount[], nowMs: number): number {
  let bps = own;
  for (const discount of earned) if (nowMs < discount.untilMs) bps += discount.bps;
  return Math.min(bps, BASIS_POINTS);
}

/** Returns the same discounts by name; null if there are none. */
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
