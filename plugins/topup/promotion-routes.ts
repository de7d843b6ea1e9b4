import {
  type CustomerRoute,
  discountBpsAt,
  done,
  formatVnd,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import type { Settings } from "./options.ts";
import { discountsOf, standingOf } from "./promotions.ts";

/** Route that shows both promotions and the customer's progress. */
export function promotionRoutes(services: Services, { promotions }: Settings): CustomerRoute[] {
  const { accounts, clock, wallets } = services;
  const { lifetime, daily } = promotions;
  return [
    {
      method: "GET",
      path: "/promotions",
      async handle(_request, { accountId }) {
        const nowMs = clock.now();
        const account = await accounts.find(accountId);
        if (!account) return refuse.notFound("This account does not exist.");
        const standing = await standingOf(wallets.current, accountId, promotions, nowMs);
        const earned = discountsOf(standing, promotions);
        return done({
          discount_bps: discountBpsAt(account.discountBps, earned, nowMs),
          account_bps: account.discountBps,
          lifetime: {
            threshold_vnd: String(lifetime.threshold_vnd),
            total_vnd: formatVnd(standing.totalMicroVnd),
            discount_bps: lifetime.discount_bps,
            active: standing.isLifetimeActive,
          },
          daily: {
            threshold_vnd: String(daily.threshold_vnd),
            today_vnd: formatVnd(standing.todayMicroVnd),
            discount_bps: daily.discount_bps,
            active: standing.isDailyActive,
            until: new Date(standing.dayEndsMs).toISOString(),
          },
        });
      },
    },
  ];
}
