import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dayBefore, dayLong, exactVnd, number, vnd } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { type Column, type Figure, figures } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { MoneyReport, Report, SumsRow } from "../contract.ts";
import { customerLink } from "../customer-link.ts";
import { list } from "../list.ts";
import { daysIn, moneyBars } from "../money-bars.ts";
import { movedFigure, owedFigure } from "../movements.ts";
import { get } from "../session.ts";
import { t } from "../text.ts";

type Filters = Readonly<Record<string, string>>;

const BY = ["day", "model", "provider", "account", "key"] as const;

/** Revenue, cost and margin of a period, by one dimension; each sum leads to its calls. */
export function render({ root, signal }: PageContext): void {
  const month = `${dayBefore(0).slice(0, 7)}-01`;
  let shown: Filters = {};
  const sum = (title: string, text: (row: SumsRow) => Child, only = {}): Column<SumsRow> => ({
    ...{ title, isNumber: true },
    cell: (row) => calls({ ...callsOf(row, shown), ...only }, text(row)),
  });
  const { element } = list<SumsRow>({
    title: t("nav.report"),
    signal,
    filters: [
      {
        name: "by",
        label: t("by"),
        standard: "day",
        options: BY.map((by) => [by, t(`report.by.${by}`)] as const),
      },
      { name: "from", label: t("from"), type: "date", standard: month },
      { name: "to", label: t("to"), type: "date", standard: dayBefore(0) },
    ],
    columns: [
      { title: t("report.what"), cell: (row) => nameOf(row, shown) },
      sum(t("report.revenue"), ({ revenue_vnd }) => vnd(revenue_vnd)),
      sum(t("report.cost"), ({ cost_vnd }) => vndOr(cost_vnd)),
      sum(t("report.margin"), margin),
      sum(t("report.calls"), (row) => number(row.calls)),
      sum(t("calls.failed"), ({ failed_calls }) => number(failed_calls), { status: "failed" }),
      sum(
        t("calls.tokens"),
        ({ input_tokens, output_tokens }) => `${number(input_tokens)} → ${number(output_tokens)}`,
      ),
    ],
    async load(filters, limit) {
      const { from = "", to = "" } = filters;
      const [{ rows, cut }, money] = await Promise.all([
        get<Report>("/report", { ...filters, limit }),
        get<MoneyReport>("/report", { from, to }),
      ]);
      const period = { from: money.from, to: money.to };
      const earlier = periodBefore(period);
      const [before, days] = await Promise.all([
        get<MoneyReport>("/report", earlier),
        get<Report>("/report", { ...period, by: "day" }),
      ]);
      shown = filters;
      return {
        rows,
        isCut: cut,
        note: [
          el(
            "div",
            { class: "stack" },
            headlines(money, before),
            el(
              "p",
              { class: "hint" },
              el(
                "a",
                { href: `${BASE}/report?${new URLSearchParams({ ...filters, ...earlier })}` },
                t("report.compared", { from: dayLong(earlier.from), to: dayLong(earlier.to) }),
              ),
            ),
            moneyBars(days.rows, period.from, period.to),
          ),
          cut && notice("info", t("report.cut", { count: rows.length })),
        ],
      };
    },
    command: (filters) => commandText("report", filters),
    file: "report",
    none: t("report.none"),
  });
  fill(root, pageHead(t("nav.report"), t("report.lead")), element);
}

/** Returns the days before a period, as many as it has. */
function periodBefore({ from, to }: { readonly from: string; readonly to: string }) {
  const start = Date.parse(from);
  return { from: dayBefore(daysIn(from, to), start), to: dayBefore(1, start) };
}

/** The sums of a period, each with its change since the one before and a link to its rows. */
function headlines(money: MoneyReport, before: MoneyReport): Child {
  const { from, to, margin_percent } = money;
  const share = margin_percent === null ? "" : ` (${number(margin_percent, 2)}%)`;
  const lead = (path: string, query = {}) =>
    `${BASE}/${path}?${new URLSearchParams({ ...query, from, to })}`;
  const sum = (name: string, field: keyof MoneyReport, href: string): Figure => {
    const [now, then] = [money[field] ?? null, before[field] ?? null];
    const text = (value: typeof now) => (typeof value === "number" ? number(value) : vndOr(value));
    const title = typeof now === "string" ? { title: exactVnd(now) } : {};
    return { name, value: text(now), note: change(now, then, text(then)), href, ...title };
  };
  const moved = (kind: "transfer" | "credit", field: "transfers_vnd" | "credits_vnd"): Figure => ({
    ...movedFigure(kind, money, from, to),
    note: change(money[field], before[field], vnd(before[field])),
  });
  const below = sum(t("report.below.short"), "below_cost_vnd", lead("calls", { cost: "below" }));
  const ofCalls = figures([
    sum(t("report.revenue"), "revenue_vnd", lead("calls")),
    sum(t("report.cost"), "cost_vnd", lead("report", { by: "provider" })),
    sum(t("report.margin") + share, "margin_vnd", lead("report", { by: "account" })),
    sum(t("report.calls"), "calls", lead("calls")),
    sum(t("report.uncosted"), "unknown_cost_calls", lead("calls", { cost: "unknown" })),
  ]);
  const ofMoney = figures([
    moved("transfer", "transfers_vnd"),
    moved("credit", "credits_vnd"),
    {
      ...owedFigure(money),
      note: change(money.owed_vnd, before.owed_vnd, vnd(before.owed_vnd)),
    },
    { ...below, note: [t("report.below.count", { count: money.below_cost_calls }), below.note] },
  ]);
  return [ofCalls, ofMoney];
}

/** Says how much a figure was before, and by how much it has changed. A change from 0 has no percentage. */
function change(now: string | number | null, before: typeof now, text: string): string {
  const said = t("report.before", { amount: text });
  if (now === null || before === null || Number(before) === 0) return said;
  const part = (Number(now) - Number(before)) / Math.abs(Number(before));
  return `${said} (${part < 0 ? "−" : "+"}${number(Math.abs(part) * 100, 1)}%)`;
}

/** The name of a row, which leads to its calls of the period, or to its customer. */
function nameOf(row: SumsRow, period: Filters) {
  const { day, model, provider, email, key_name, account_id, key_id } = row;
  if (key_id === undefined && account_id !== undefined) {
    return customerLink(account_id, email);
  }
  const name = day === undefined ? (model ?? provider ?? key_name ?? key_id) : dayLong(day);
  return calls(callsOf(row, period), name ?? "–");
}

/** The filters of the calls that a row adds up. */
function callsOf(row: SumsRow, { from = "", to = "" }: Filters): Filters {
  const { day, model, provider, account_id, key_id } = row;
  if (day !== undefined) return { from: day, to: day };
  if (model !== undefined) return { model, from, to };
  if (provider !== undefined) return { upstream: provider ?? "-", from, to };
  return { ...(key_id === undefined ? { account: account_id ?? "" } : { key: key_id }), from, to };
}

function calls(query: Filters, content: Child): HTMLElement {
  return el("a", { href: `${BASE}/calls?${new URLSearchParams(query)}` }, content);
}

/** Red if calls cost more than they brought. */
function margin({ margin_vnd, margin_percent, below_cost_calls, below_cost_vnd }: SumsRow) {
  const share = margin_percent === null ? "" : ` (${number(margin_percent, 1)}%)`;
  const title =
    below_cost_calls > 0
      ? t("report.below", { count: below_cost_calls, amount: vnd(below_cost_vnd) })
      : undefined;
  return el("span", { class: below_cost_calls > 0 && "below", title }, vndOr(margin_vnd) + share);
}

function vndOr(amount: string | null): string {
  return amount === null ? t("unknown") : vnd(amount);
}
