import { badge } from "../../page-parts/browser/badge.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { percent, vnd } from "../../page-parts/browser/format.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { card } from "../../page-parts/browser/page-head.ts";
import { get } from "./api.ts";
import type { Promotions } from "./contract.ts";
import { hasPlugin } from "./plugins.ts";
import { t } from "./text.ts";

/** Reads the discounts. Undefined if that fails, and without top-ups, which earn them. */
export async function readPromotions(): Promise<Promotions | undefined> {
  return hasPlugin("topup") ? get<Promotions>("/promotions").catch(() => undefined) : undefined;
}

/**
 * Each discount by its name, with the customer's progress towards those to earn; undefined if there is none. One of 0 % is
 * switched off.
 */
export function promotionCard({
  lifetime,
  daily,
  discount_bps,
  account_bps,
}: Promotions): HTMLElement | undefined {
  if (Math.max(lifetime.discount_bps, daily.discount_bps, discount_bps) === 0) return undefined;
  const list = el(
    "div",
    { class: "stack" },
    el(
      "p",
      { class: "discount" },
      icon("gift"),
      discount_bps > 0
        ? t("promotions.now", { percent: percent(discount_bps) })
        : t("promotions.none"),
    ),
    account_bps > 0 &&
      el(
        "div",
        { class: "promotion" },
        head(t("promotions.account", { percent: percent(account_bps) }), true),
      ),
    lifetime.discount_bps > 0 &&
      promotion(
        t("promotions.lifetime", { percent: percent(lifetime.discount_bps) }),
        Number(lifetime.total_vnd),
        Number(lifetime.threshold_vnd),
        lifetime.active,
      ),
    daily.discount_bps > 0 &&
      promotion(
        t("promotions.daily", { percent: percent(daily.discount_bps) }),
        Number(daily.today_vnd),
        Number(daily.threshold_vnd),
        daily.active,
      ),
  );
  return card(t("promotions.title"), list);
}

function promotion(
  title: string,
  reached: number,
  threshold: number,
  active: boolean,
): HTMLElement {
  const progress = active
    ? t("promotions.reached", { reached: vnd(reached) })
    : t("promotions.progress", { reached: vnd(reached), threshold: vnd(threshold) });
  return el(
    "div",
    { class: "promotion" },
    head(title, active),
    el("progress", { max: threshold, value: Math.min(reached, threshold), "aria-label": title }),
    el(
      "p",
      { class: "hint" },
      progress,
      !active && ` ${t("promotions.missing", { amount: vnd(Math.max(0, threshold - reached)) })}`,
    ),
  );
}

function head(title: string, active: boolean): HTMLElement {
  return el(
    "div",
    { class: "row spread" },
    el("strong", {}, title),
    active && badge("good", icon("check"), t("promotions.active")),
  );
}
