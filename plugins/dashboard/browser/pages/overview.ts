import { get } from "../api.ts";
import { callTable } from "../call-table.ts";
import type { CallRecord, Catalogue, Model, Page, Promotions, Sum, Wallet } from "../contract.ts";
import { dayBars } from "../day-bars.ts";
import { type Child, el, fill } from "../dom.ts";
import { failureText } from "../failure.ts";
import { notice } from "../form.ts";
import { compact, dayBefore, number, vnd } from "../format.ts";
import { icon } from "../icons.ts";
import { card, pageHead, waiting } from "../page-head.ts";
import { promotionList } from "../promotions.ts";
import { BASE, type PageContext } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { t } from "../text.ts";

const DAYS = 14;

export function render({ root, signal }: PageContext): void {
  const money = el("section", { class: "card balance" }, waiting(t("loading")));
  const promotions = card(t("promotions.title"), waiting(t("loading")));
  const days = card(t("overview.days", { days: DAYS }), waiting(t("loading")));
  const calls = card(t("overview.calls"), waiting(t("loading")));
  fill(
    root,
    pageHead(t("nav.overview"), currentAccount()?.email ?? ""),
    el("div", { class: "grid two" }, money, promotions),
    days,
    calls,
  );
  const part = async (place: HTMLElement, content: () => Promise<Child>) => {
    try {
      const made = await content();
      if (!signal.aborted) fill(place, heading(place), made);
    } catch (error) {
      if (!signal.aborted) fill(place, heading(place), notice("bad", failureText(error)));
    }
  };
  void part(money, balance);
  void part(promotions, async () => promotionList(await get<Promotions>("/promotions")));
  void part(days, recentDays);
  void part(calls, recentCalls);
}

function heading(place: HTMLElement): Element | null {
  return place.querySelector("h2");
}

async function balance(): Promise<Child> {
  const [wallet, catalogue] = await Promise.all([
    get<Wallet>("/wallet"),
    get<Catalogue>("/catalogue"),
  ]);
  const available = Number(wallet.available_vnd);
  const held = Number(wallet.held_vnd);
  return [
    el("h2", {}, t("balance")),
    el("p", { class: "figure", title: `${wallet.available_vnd} đ` }, vnd(wallet.available_vnd)),
    held > 0 && el("p", { class: "hint" }, t("balance.held", { amount: vnd(wallet.held_vnd) })),
    el(
      "p",
      { class: "row" },
      el(
        "a",
        { class: "button primary", href: `${BASE}/top-up` },
        icon("topup"),
        t("topup.action"),
      ),
    ),
    available > 0 ? whatItBuys(available, catalogue) : el("p", {}, t("balance.empty")),
  ];
}

function whatItBuys(available: number, { models, popular }: Catalogue): Child {
  const known = popular
    .map((id) => models.find((model) => model.id === id))
    .filter((model) => model !== undefined)
    .slice(0, 4);
  return [
    el("h3", {}, t("balance.buys")),
    el(
      "dl",
      { class: "pairs" },
      known.map((model) =>
        el("div", {}, el("dt", {}, model.id), el("dd", {}, amountOf(model, available))),
      ),
    ),
  ];
}

function amountOf(model: Model, available: number): string {
  const units = Math.floor(available / model.price_vnd);
  if (model.price_unit !== "mtok") return t("balance.calls", { count: number(units) });
  return t("balance.tokens", { count: compact((available / model.price_vnd) * 1e6) });
}

async function recentDays(): Promise<Child> {
  const from = dayBefore(DAYS - 1);
  const { data } = await get<Page<Sum>>("/usage/summary", { by: "day", from });
  return dayBars(DAYS, data);
}

async function recentCalls(): Promise<Child> {
  const { data } = await get<Page<CallRecord>>("/usage", { limit: "5" });
  if (data.length > 0) {
    return [
      callTable(data),
      el("p", {}, el("a", { href: `${BASE}/usage` }, t("overview.allcalls"))),
    ];
  }
  return el(
    "div",
    { class: "empty" },
    el("p", {}, t("overview.nocalls")),
    el(
      "p",
      { class: "row center" },
      el("a", { class: "button", href: `${BASE}/keys` }, t("overview.makekey")),
      el("a", { class: "button", href: `${BASE}/how-to` }, t("nav.howto")),
    ),
  );
}
