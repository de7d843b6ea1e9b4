import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form } from "../../../page-parts/browser/form.ts";
import { percent, vnd, vndNumber } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { card, loadInto, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import { go } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { get, post } from "../api.ts";
import type { Promotions, TopUp, TopUpSettings } from "../contract.ts";
import { hasPlugin } from "../plugins.ts";
import { promotionCard, readPromotions } from "../promotions.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";
import { bonusList, bonusOf } from "./bonus.ts";
import { orderHistory } from "./history.ts";
import { voucherCard } from "./voucher.ts";

const PRESETS_VND = [50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000];
const PRESELECTED_VND = 200_000;

export async function renderNewOrder({ root, signal }: PageContext): Promise<void> {
  if (!hasPlugin("topup")) {
    return fill(root, pageHead(t("nav.topup"), t("voucher.lead")), voucherCard());
  }
  fill(root, pageHead(t("nav.topup"), t("topup.lead")), waiting());
  const [settings, promotions] = await Promise.all([
    get<TopUpSettings>("/top-ups/settings"),
    readPromotions(),
  ]);
  if (signal.aborted) return;
  const history = el("div", {});
  const { bonuses } = settings.promotions;
  fill(
    root,
    pageHead(t("nav.topup"), t("topup.lead")),
    el(
      "div",
      { class: "grid two" },
      el(
        "div",
        { class: "grid" },
        card(t("amount"), amountForm(settings, promotions)),
        voucherCard(),
      ),
      el(
        "div",
        { class: "grid" },
        bonuses.length > 0 && card(t("bonus.title"), bonusList(bonuses)),
        promotions && promotionCard(promotions),
      ),
    ),
    card(t("topup.history"), history),
  );
  await loadInto(history, signal, () => orderHistory(signal));
}

function amountForm(settings: TopUpSettings, promotions: Promotions | undefined): HTMLElement {
  const minimum = Number(settings.minimum_vnd);
  const maximum = Number(settings.maximum_vnd);
  const presets = PRESETS_VND.filter((amount) => amount >= minimum && amount <= maximum);
  const own = field(
    t("topup.own"),
    { name: "amount", inputmode: "numeric", autocomplete: "off", required: true },
    t("topup.bounds", { minimum: vnd(minimum), maximum: vnd(maximum) }),
  );
  const { input } = own;
  const { bonuses } = settings.promotions;
  const earns = el("p", { class: "discount", "aria-live": "polite" });
  const bonusLine = el("p", { class: "discount", "aria-live": "polite" });
  const setAmount = (amount: number) => {
    input.value = vndNumber(amount);
    mark();
  };
  const mark = () => {
    const amount = amountOf(input.value);
    for (const choice of choices) choice.checked = Number(choice.value) === amount;
    const isValid = amount >= minimum && amount <= maximum;
    input.setCustomValidity(isValid ? "" : t("topup.outofbounds"));
    const earned = isValid ? earnedBy(amount, promotions).join(", ") : "";
    earns.hidden = earned === "";
    fill(earns, icon("gift"), t("topup.earns", { discounts: earned }));
    const bonus = isValid ? bonusOf(bonuses, amount) : 0;
    bonusLine.hidden = bonus === 0;
    const amounts = { bonus: vnd(bonus), sum: vnd(amount + bonus) };
    fill(bonusLine, icon("gift"), t("topup.bonus", amounts));
  };
  const choices = presets.map((amount) =>
    el("input", {
      type: "radio",
      name: "preset",
      value: amount,
      onchange: () => setAmount(amount),
    }),
  );
  input.addEventListener("input", mark);
  // Formats the number when the field loses focus; while typing, the caret would jump.
  input.addEventListener("change", () => {
    if (amountOf(input.value) > 0) setAmount(amountOf(input.value));
  });
  setAmount(PRESELECTED_VND);
  const submit = async () => {
    const order = await post<TopUp>("/top-ups", { amount_vnd: amountOf(input.value) });
    go(`${BASE}/top-up/${order.id}`);
  };
  return form(
    t("topup.submit"),
    submit,
    el(
      "fieldset",
      { class: "presets" },
      el("legend", { class: "hidden" }, t("amount")),
      choices.map((choice) =>
        el(
          "label",
          {},
          choice,
          el("span", {}, vnd(choice.value), el("small", {}, gainsOf(Number(choice.value)))),
        ),
      ),
    ),
    own.element,
    bonusLine,
    earns,
  );

  /** Says what a choice earns, in one line: its bonus, else its discounts. */
  function gainsOf(amount: number): string {
    const bonus = bonusOf(bonuses, amount);
    return bonus > 0 ? `+${vnd(bonus)}` : earnedBy(amount, promotions).join(" · ");
  }
}

/** Returns the discounts that a top-up of this amount earns besides those of now: `+1% today`. */
function earnedBy(amount: number, promotions: Promotions | undefined): string[] {
  if (!promotions) return [];
  const { daily, lifetime } = promotions;
  const isEarned = (promotion: Promotions["daily" | "lifetime"], reached: number | string) =>
    !promotion.active &&
    promotion.discount_bps > 0 &&
    Number(reached) + amount >= Number(promotion.threshold_vnd);
  return [
    ...(isEarned(daily, daily.today_vnd)
      ? [t("topup.earns.daily", { percent: percent(daily.discount_bps) })]
      : []),
    ...(isEarned(lifetime, lifetime.total_vnd)
      ? [t("topup.earns.lifetime", { percent: percent(lifetime.discount_bps) })]
      : []),
  ];
}

/** Reads an amount from its digits. Ignores thousands separators. */
function amountOf(text: string): number {
  return Number(text.replace(/\D/g, "").slice(0, 15));
}
