import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dayBefore, dayLong, exactVnd, number, vnd } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { Report, SumsRow } from "../contract.ts";
import { list } from "../list.ts";
import { get } from "../session.ts";
import { figures } from "../table.ts";
import { t } from "../text.ts";

const BY = ["day", "model", "provider", "account", "key"] as const;

/** Revenue, cost and margin of a period, by one dimension; each row leads to its calls. */
export function render({ root, signal }: PageContext): void {
  const month = `${dayBefore(0).slice(0, 7)}-01`;
  let shown: Readonly<Record<string, string>> = {};
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
      { title: t("report.revenue"), isNumber: true, cell: ({ revenue_vnd }) => vnd(revenue_vnd) },
      { title: t("report.cost"), isNumber: true, cell: ({ cost_vnd }) => vndOr(cost_vnd) },
      { title: t("report.margin"), isNumber: true, cell: margin },
      { title: t("report.calls"), isNumber: true, cell: ({ calls }) => number(calls) },
      {
        title: t("report.failed"),
        isNumber: true,
        cell: ({ failed_calls }) => number(failed_calls),
      },
      {
        title: t("calls.tokens"),
        isNumber: true,
        cell: ({ input_tokens, output_tokens }) =>
          `${number(input_tokens)} → ${number(output_tokens)}`,
      },
    ],
    async load(filters, limit) {
      const { rows, total, cut } = await get<Report>("/report", { ...filters, limit });
      shown = filters;
      return {
        rows,
        note: [totals(total[0]), cut && notice("info", t("report.cut", { count: rows.length }))],
      };
    },
    command: (filters) => commandText("report", filters),
    file: "report",
    none: t("report.none"),
  });
  fill(root, pageHead(t("nav.report"), t("report.lead")), element);
}

function totals(sums: Report["total"][0]): HTMLElement {
  const { revenue_vnd, cost_vnd, margin_vnd, margin_percent, calls, unknown_cost_calls } = sums;
  const share = margin_percent === null ? "" : ` (${number(margin_percent, 2)}%)`;
  return figures([
    { name: t("report.revenue"), value: vnd(revenue_vnd), title: exactVnd(revenue_vnd) },
    { name: t("report.cost"), value: vndOr(cost_vnd) },
    { name: t("report.margin") + share, value: vndOr(margin_vnd) },
    { name: t("report.calls"), value: number(calls) },
    { name: t("report.uncosted"), value: number(unknown_cost_calls) },
  ]);
}

/** The name of a row, which leads to its calls of the period. */
function nameOf(row: SumsRow, { from = "", to = "" }: Readonly<Record<string, string>>) {
  const { day, model, provider, email, key_name, account_id, key_id } = row;
  if (day !== undefined) return calls({ from: day, to: day }, dayLong(day));
  if (model !== undefined) return calls({ model, from, to }, model);
  if (provider !== undefined) return calls({ upstream: provider ?? "", from, to }, provider ?? "–");
  if (key_id !== undefined) return calls({ key: key_id, from, to }, key_name ?? key_id);
  if (account_id !== undefined) {
    return el("a", { href: `${BASE}/customers/${account_id}` }, email ?? account_id);
  }
  return "";
}

function calls(query: Readonly<Record<string, string>>, text: string): HTMLElement {
  return el("a", { href: `${BASE}/calls?${new URLSearchParams(query)}` }, text);
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
