import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { compact, dayBefore, number, vnd } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { card, loadInto, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { figures, pairs } from "../../../page-parts/browser/table.ts";
import { get } from "../api.ts";
import { readWallet } from "../balance.ts";
import { callTable } from "../call-table.ts";
import type { CallRecord, Catalogue, Factors, KeyList, Model, Page, Sum } from "../contract.ts";
import { BAR_DAYS, dailySums, firstOfMonth } from "../daily-sums.ts";
import { dayBars } from "../day-bars.ts";
import { canTopUp } from "../plugins.ts";
import { promotionCard, readPromotions } from "../promotions.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { invitedBy } from "../team-members.ts";
import { t } from "../text.ts";

/** How long the balance lasts goes by the days of the last week since the first call in it. */
const PACE_DAYS = 7;
const LOW_DAYS = 3;
/** A longer time is no forecast. */
const LASTING_DAYS_MAX = 365;

export async function render({ root, signal }: PageContext): Promise<void> {
  const head = pageHead(t("nav.overview"), currentAccount()?.email ?? "");
  fill(root, head, waiting());
  const part = (title: string, content: () => Promise<Child>, look = "") => {
    const body = el("div", { class: "part" });
    const place = el("section", { class: `card ${look}`, hidden: true }, el("h2", {}, title), body);
    return { place, loaded: loadInto(body, signal, content) };
  };
  // All are asked for at once.
  const money = part(t("balance"), balance, "balance");
  const days = part(t("overview.spent"), recentDays);
  const promotions = readPromotions();
  const { data } = await get<Page<CallRecord>>("/usage", { limit: "5" });
  if (signal.aborted) return;
  const steps = data.length === 0 ? [part(t("overview.nocalls"), firstSteps)] : [];
  fill(
    root,
    head,
    steps.map(({ place }) => place),
    el("div", { class: "grid two" }, money.place, days.place),
  );
  // Shown one after the other, so that no part moves when another one grows.
  for (const { place, loaded } of [...steps, money, days]) {
    place.hidden = false;
    await loaded;
  }
  const offered = await promotions;
  if (signal.aborted) return;
  if (data.length > 0) root.append(card(t("overview.calls"), callTable(data), allCalls()));
  const discounts = offered && promotionCard(offered);
  if (discounts) root.append(discounts);
}

function allCalls(): HTMLElement {
  return el("p", {}, el("a", { href: `${BASE}/usage` }, t("overview.allcalls")));
}

async function balance(): Promise<Child> {
  const [wallet, catalogue] = await Promise.all([readWallet(), get<Catalogue>("/catalogue")]);
  const available = Number(wallet.available_vnd);
  const held = Number(wallet.held_vnd);
  return [
    el("p", { class: "figure", title: `${wallet.available_vnd} đ` }, vnd(wallet.available_vnd)),
    held > 0 && el("p", { class: "hint" }, t("balance.held", { amount: vnd(wallet.held_vnd) })),
    canTopUp() &&
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
    available > 0
      ? whatItBuys(available, catalogue)
      : canTopUp() && el("p", {}, t("balance.empty")),
  ];
}

function whatItBuys(available: number, { models, popular }: Catalogue): Child {
  const known = popular
    .map((id) => models.find((model) => model.id === id))
    .filter((model) => model !== undefined)
    .slice(0, 4);
  return [
    el("h3", {}, t("balance.buys")),
    pairs(known.map((model) => [model.id, amountOf(model, available)])),
  ];
}

/** Returns what the balance buys at least: tokens of the dearest kind, or calls. */
function amountOf({ price_unit, price_vnd, price_factors }: Model, available: number): string {
  const dearest = Math.max(...KINDS[price_unit].map((kind) => price_factors[kind] ?? 1));
  const units = available / (price_vnd * dearest);
  if (price_unit !== "mtok") return t("calls.count", { count: number(Math.floor(units)) });
  return t("balance.tokens", { count: compact(units * 1e6) });
}

/** The kinds of things that a price counts, by its unit. */
const KINDS: Readonly<Record<Model["price_unit"], readonly (keyof Factors)[]>> = {
  mtok: ["input", "cached_input", "cache_write", "output"],
  call: ["per_call"],
  image: ["per_image"],
};

/** The cost of today and this month, how long the balance lasts, and a bar for each of the last days. */
async function recentDays(): Promise<Child> {
  const today = dayBefore(0);
  const [{ data }, { available_vnd }] = await Promise.all([
    get<Page<Sum>>("/usage/summary", dailySums()),
    readWallet(),
  ]);
  const costSince = (start: string) =>
    data
      .filter(({ day = "" }) => day >= start)
      .reduce((sum, { cost_vnd }) => sum + Number(cost_vnd), 0);
  const days = Array.from({ length: PACE_DAYS }, (_, before) => dayBefore(before));
  const costs = days.map((day) => costSince(day));
  const [ofPace = 0] = costs.slice(-1);
  const aDay = ofPace / (costs.indexOf(ofPace) + 1);
  const lasting = Math.floor(Number(available_vnd) / aDay);
  const sums = [
    { name: t("overview.today"), value: vnd(costSince(today)) },
    { name: t("overview.month"), value: vnd(costSince(firstOfMonth())) },
    ...(aDay > 0 && lasting <= LASTING_DAYS_MAX
      ? [
          {
            name: t("overview.lasts"),
            value: t("overview.lasts.days", { days: lasting < 1 ? "< 1" : number(lasting) }),
          },
        ]
      : []),
  ];
  return [
    figures(sums),
    aDay > 0 && lasting < LOW_DAYS && notice("info", t("overview.low")),
    el("h3", {}, t("overview.days", { days: BAR_DAYS })),
    dayBars(BAR_DAYS, data),
  ];
}

/** The way to the first call; the first step that is open has the button. */
async function firstSteps(): Promise<Child> {
  const [keys, wallet, owners] = await Promise.all([
    get<KeyList>("/keys"),
    readWallet(),
    invitedBy(),
  ]);
  const steps = [
    // Who is invited works on a wallet that has money.
    ...owners.map((email) => ({
      text: t("team.join.label", { email }),
      isDone: false,
      path: "/team",
    })),
    {
      text: t("steps.verify"),
      isDone: currentAccount()?.email_verified === true,
      path: "/account",
    },
    { text: t("overview.makekey"), isDone: keys.data.length > 0, path: "/keys" },
    ...(canTopUp()
      ? [{ text: t("topup.action"), isDone: Number(wallet.available_vnd) > 0, path: "/top-up" }]
      : []),
    { text: t("steps.call"), isDone: false, path: "/how-to" },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return [
    el(
      "ol",
      { class: "steps" },
      steps.map(({ text, isDone, path }, at) =>
        el(
          "li",
          { class: isDone && "done" },
          isDone && icon("check"),
          at === next
            ? el("a", { class: "button primary", href: BASE + path }, text)
            : el("a", { href: BASE + path }, text),
          isDone && el("span", { class: "hidden" }, t("done")),
        ),
      ),
    ),
  ];
}
