import { type Child, el } from "../../page-parts/browser/dom.ts";
import { dayBefore, dayLong, vnd } from "../../page-parts/browser/format.ts";
import { BASE } from "./base.ts";
import type { SumsRow } from "./contract.ts";
import { t } from "./text.ts";
import { stackedBars } from "./time-bars.ts";

const DAY_MS = 86_400_000;
/** Bars of more days would be too thin to see. */
const DAYS_MAX = 400;
const PARTS = ["cost", "loss", "margin", "uncosted"] as const;

/** Returns the number of days from one to another, both included. */
export function daysIn(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

/**
 * A bar for the revenue of each day, of its cost and its margin: what a cost is above its revenue stands out. Each part leads to its
 * calls. The keyboard and screen readers take the table that the caption leads to.
 */
export function moneyBars(rows: readonly SumsRow[], from: string, to: string): Child {
  const count = daysIn(from, to);
  if (rows.length === 0 || count > DAYS_MAX) return false;
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const bars = Array.from({ length: count }, (_, place) => {
    const day = dayBefore(count - 1 - place, Date.parse(to));
    const row = byDay.get(day);
    const sizes = row && sizesOf(row);
    const text = row ? dayText(day, row) : "";
    return PARTS.map((kind) => ({
      ...{ kind, text, size: sizes?.[kind] ?? 0 },
      href: `${BASE}/calls?${new URLSearchParams({ ...FILTERS[kind], from: day, to: day })}`,
    }));
  });
  const parts = PARTS.filter((_, place) => bars.some((bar) => (bar[place]?.size ?? 0) > 0));
  return el(
    "figure",
    { class: "day-bars time-bars" },
    stackedBars(t("report.bars"), bars),
    el(
      "figcaption",
      {},
      el("span", {}, `${dayLong(from)} – ${dayLong(to)}`),
      el(
        "span",
        { class: "row" },
        parts.map((kind) =>
          el("span", {}, el("span", { class: `swatch ${kind}` }), " ", t(NAMES[kind])),
        ),
      ),
      el(
        "a",
        { href: `${BASE}/report?${new URLSearchParams({ by: "day", from, to })}` },
        t("traffic.table"),
      ),
    ),
  );
}

const NAMES = {
  cost: "report.cost",
  loss: "report.loss",
  margin: "report.margin",
  uncosted: "report.uncosted.revenue",
} as const;

const FILTERS = {
  ...{ cost: {}, margin: {} },
  ...{ loss: { cost: "below" }, uncosted: { cost: "unknown" } },
} as const satisfies Readonly<Record<(typeof PARTS)[number], Readonly<Record<string, string>>>>;

/** Returns the parts in đ, none below 0. Without a loss they add up to the revenue. */
function sizesOf({ revenue_vnd, cost_vnd, margin_vnd, unknown_cost_calls }: SumsRow) {
  const [cost, margin] = [Number(cost_vnd ?? 0), Number(margin_vnd ?? 0)];
  return {
    cost: cost + Math.min(0, margin),
    loss: Math.max(0, -margin),
    margin: Math.max(0, margin),
    uncosted: unknown_cost_calls > 0 ? Math.max(0, Number(revenue_vnd) - cost - margin) : 0,
  };
}

function dayText(day: string, { revenue_vnd, cost_vnd, margin_vnd }: SumsRow): string {
  const amounts = [
    [t("report.revenue"), revenue_vnd],
    [t("report.cost"), cost_vnd],
    [t("report.margin"), margin_vnd],
  ] as const;
  const texts = amounts.map(
    ([name, amount]) => `${name} ${amount === null ? t("unknown") : vnd(amount)}`,
  );
  return `${dayLong(day)}: ${texts.join(", ")}`;
}
