import {
  type Discount,
  dayOf,
  endOfDay,
  type Ledger,
  MICRO_VND_PER_VND,
  startOfDay,
} from "../../core/contract/index.ts";
import type { Settings } from "./options.ts";

/** Credits of bank transfers are named by it in the ledger, with the transfer's id after it. */
export const TRANSFER_REFERENCE = "transfer:";

/** How far an account has come with both promotions at an instant; amounts in µđ. */
interface Standing {
  readonly totalMicroVnd: bigint;
  readonly todayMicroVnd: bigint;
  readonly isLifetimeActive: boolean;
  readonly isDailyActive: boolean;
  /** The next 00:00 in Ho Chi Minh City, when the day's count begins anew. */
  readonly dayEndsMs: number;
}

/**
 * Looked up, never stored: what was topped up is in the ledger, so no crash can lose a discount, and changed
 * settings need no migration of customers. A top-up counts on the day on which it is credited.
 */
export async function standingOf(
  ledger: Ledger,
  accountId: string,
  promotions: Settings["promotions"],
  nowMs: number,
): Promise<Standing> {
  const day = dayOf(new Date(nowMs));
  const dayEnds = endOfDay(day);
  const { totalMicroVnd, periodMicroVnd: todayMicroVnd } = await ledger.topUps({
    accountId,
    from: startOfDay(day),
    to: dayEnds,
    referencePrefix: promotions.counted === "all" ? "" : TRANSFER_REFERENCE,
  });
  return {
    totalMicroVnd,
    todayMicroVnd,
    isLifetimeActive: isReached(promotions.lifetime, totalMicroVnd),
    isDailyActive: isReached(promotions.daily, todayMicroVnd),
    dayEndsMs: dayEnds.getTime(),
  };
}

/** The discounts that a standing has earned. */
export function discountsOf(
  standing: Standing,
  { lifetime, daily }: Settings["promotions"],
): Discount[] {
  const discounts: Discount[] = [];
  if (standing.isLifetimeActive) {
    const untilMs = Number.POSITIVE_INFINITY;
    discounts.push({ name: "lifetime", bps: lifetime.discount_bps, untilMs });
  }
  if (standing.isDailyActive) {
    discounts.push({ name: "daily", bps: daily.discount_bps, untilMs: standing.dayEndsMs });
  }
  return discounts;
}

function isReached(
  { threshold_vnd, discount_bps }: Settings["promotions"]["daily"],
  amountMicroVnd: bigint,
): boolean {
  return discount_bps > 0 && amountMicroVnd >= BigInt(threshold_vnd) * BigInt(MICRO_VND_PER_VND);
}
