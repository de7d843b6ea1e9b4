import {
  type Call,
  dayOf,
  endOfDay,
  MICRO_VND_PER_VND,
  ownReferences,
  type Services,
  startOfDay,
} from "../../core/plugin/index.ts";
import type { Settings } from "./options.ts";

/** Progress of an account in both promotions. Amounts are in µđ. */
interface Standing {
  readonly totalMicroVnd: bigint;
  readonly todayMicroVnd: bigint;
  readonly isLifetimeActive: boolean;
  readonly isDailyActive: boolean;
  /** The next 00:00 in Ho Chi Minh City, when the daily count restarts. */
  readonly dayEndsMs: number;
}

/**
 * Computes an account's progress from the ledger. Progress is never stored, so a crash cannot lose a discount, and
 * changed settings need no migration. A top-up counts on the day of its credit.
 */
export async function standingOf(
  wallets: Services["wallets"]["current"],
  accountId: string,
  promotions: Settings["promotions"],
  nowMs: number,
): Promise<Standing> {
  const day = dayOf(new Date(nowMs));
  const dayEnds = endOfDay(day);
  const { totalMicroVnd, periodMicroVnd: todayMicroVnd } = await wallets.topUps({
    accountId,
    from: startOfDay(day),
    to: dayEnds,
    referencePrefix: promotions.counted === "all" ? "" : ownReferences.transfer,
  });
  return {
    totalMicroVnd,
    todayMicroVnd,
    isLifetimeActive: isReached(promotions.lifetime, totalMicroVnd),
    isDailyActive: isReached(promotions.daily, todayMicroVnd),
    dayEndsMs: dayEnds.getTime(),
  };
}

/** Returns the discounts that an account has earned. */
export function discountsOf(
  standing: Standing,
  { lifetime, daily }: Settings["promotions"],
): NonNullable<Call["key"]>["discounts"][number][] {
  const discounts: NonNullable<Call["key"]>["discounts"][number][] = [];
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
