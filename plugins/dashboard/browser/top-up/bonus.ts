import { el } from "../../../page-parts/browser/dom.ts";
import { dayLong, vnd } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import type { Bonus } from "../contract.ts";
import { t } from "../text.ts";

/** Returns what a top-up of this amount (đ) earns: the best bonus, and those that add up. */
export function bonusOf(bonuses: readonly Bonus[], amount: number): number {
  let best = 0;
  let added = 0;
  for (const { percent, minimum_vnd, bonus_max_vnd, adds_up } of bonuses) {
    if (amount < Number(minimum_vnd)) continue;
    const most = bonus_max_vnd === null ? Number.POSITIVE_INFINITY : Number(bonus_max_vnd);
    const bonus = Math.min(Math.floor((amount * percent) / 100), most);
    if (adds_up) added += bonus;
    else best = Math.max(best, bonus);
  }
  return best + added;
}

/** The bonuses with their conditions. */
export function bonusList(bonuses: readonly Bonus[]): HTMLElement {
  return el(
    "div",
    { class: "stack" },
    bonuses.map((bonus) => {
      const { title, percent, minimum_vnd, bonus_max_vnd, last_day, applies } = bonus;
      const conditions = [
        t("bonus.percent", { percent, minimum: vnd(minimum_vnd) }),
        ...(bonus_max_vnd === null ? [] : [t("bonus.most", { amount: vnd(bonus_max_vnd) })]),
        ...(applies === "each_time" ? [] : [t(`bonus.${applies}`)]),
        t("bonus.until", { day: dayLong(last_day) }),
      ];
      return el(
        "div",
        { class: "promotion" },
        el("p", { class: "discount" }, icon("gift"), title),
        el("p", { class: "hint" }, conditions.join(" ")),
      );
    }),
  );
}
