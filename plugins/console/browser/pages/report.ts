import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dayBefore, dayLong, exactVnd, number, vnd } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { MoneyReport, Report, SumsRow } from "../contract.ts";
import { list } from "../list.ts";
import { movedFigure, owedFigure } from "../movements.ts";
import { get } from "../session.ts";
import { type Column, figures } from "../table.ts";
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
        label: t("report.by"),
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
      sum(t("report.failed"), ({ failed_calls }) => number(failed_calls), { status: "failed" }),
      sum(
        t("calls.tokens"),
        ({ input_tokens, output_tokens }) => `${number(input_tokens)} → ${number(output_tokens)}`,
      ),
    ],
    async load(filters, limit) {
      const { from = "", to = "" } = filters;
      const [{ rows, total, cut }, money] = await Promise.all([
        get<Report>("/report", { ...filters, limit }),
        get<MoneyReport>("/report", { from, to }),
      ]);
      shown = filters;
      return {
        rows,
        note: [
          totals(total[0], filters),
          moneyOf(money, filters),
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

function totals(sums: Report["total"][0], { from = "", to = "" }: Filters): HTMLElement {
  const { revenue_vnd, cost_vnd, margin_vnd, margin_percent, calls, unknown_cost_calls } = sums;
  const share = margin_percent === null ? "" : ` (${number(margin_percent, 2)}%)`;
  const lead = (path: string, query = {}) =>
    `${BASE}/${path}?${new URLSearchParams({ ...query, from, to })}`;
  const figure = (name: string, value: string, href: string, title?: string) => ({
    ...{ name, value, href, ...(title !== undefined && { title }) },
  });
  return figures([
    figure(t("report.revenue"), vnd(revenue_vnd), lead("calls"), exactVnd(revenue_vnd)),
    figure(t("report.cost"), vndOr(cost_vnd), lead("report", { by: "provider" })),
    figure(t("report.margin") + share, vndOr(margin_vnd), lead("report", { by: "account" })),
    figure(t("report.calls"), number(calls), lead("calls")),
    figure(t("report.uncosted"), number(unknown_cost_calls), lead("calls", { cost: "unknown" })),
  ]);
}

/** The money that came in, what is owed at the end of the period, and what was sold below its cost. */
function moneyOf(money: MoneyReport, { from = "", to = "" }: Filters): HTMLElement {
  return figures([
    movedFigure("transfer", money, from, to),
    movedFigure("credit", money, from, to),
    owedFigure(money),
    {
      name: t("report.below.short"),
      value: vnd(money.below_cost_vnd),
      href: `${BASE}/calls?${new URLSearchParams({ cost: "below", from, to })}`,
      note: t("list.count", { count: money.below_cost_calls }),
    },
  ]);
}

/** The name of a row, which leads to its calls of the period, or to its customer. */
function nameOf(row: SumsRow, period: Filters) {
  const { day, model, provider, email, key_name, account_id, key_id } = row;
  if (key_id === undefined && account_id !== undefined) {
    return el("a", { href: `${BASE}/customers/${account_id}` }, email ?? account_id);
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
