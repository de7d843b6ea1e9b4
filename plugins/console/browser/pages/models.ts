import { el, fill } from "../../../page-parts/browser/dom.ts";
import {
  dayBefore,
  factorsText,
  number,
  priceText,
  vnd,
} from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { Model, Report, SumsRow } from "../contract.ts";
import { list } from "../list.ts";
import { get, hasCommand } from "../session.ts";
import { t } from "../text.ts";

interface Sold extends Model {
  /** Its calls of this month; undefined if there are none. */
  readonly sums: SumsRow | undefined;
}

const REPORTED_MAX = 10_000;

/** The models with the prices that run, and what each brought and cost this month. */
export function render({ root, signal }: PageContext): void {
  const { element } = list<Sold>({
    title: t("nav.models"),
    signal,
    filters: [
      { name: "query", label: t("models.query"), type: "search" },
      {
        name: "offered",
        label: t("models.offered"),
        options: [
          ["", t("all")],
          ["yes", t("yes")],
          ["no", t("no")],
        ],
      },
    ],
    columns: [
      { title: t("calls.model"), cell: ({ id }) => callsOf(id) },
      {
        title: t("models.price"),
        cell: (model) => [
          priceText(model),
          " ",
          el("small", { class: "hint" }, factorsText(model.price_factors)),
        ],
      },
      {
        title: t("models.routes"),
        cell: ({ routes }) => routes.map(({ upstream }) => upstream).join(", "),
      },
      {
        title: t("report.revenue"),
        isNumber: true,
        cell: ({ sums }) => (sums ? vnd(sums.revenue_vnd) : "–"),
      },
      {
        title: t("report.margin"),
        isNumber: true,
        cell: ({ sums }) =>
          el(
            "span",
            { class: sums && sums.below_cost_calls > 0 && "below" },
            marginText(sums?.margin_percent),
          ),
      },
      {
        title: t("models.offered"),
        cell: ({ offered }) =>
          el("span", { class: `badge ${offered ? "good" : "info"}` }, t(offered ? "yes" : "no")),
      },
    ],
    async load({ query = "", offered = "" }) {
      const today = dayBefore(0);
      const month = { by: "model", from: `${today.slice(0, 7)}-01`, to: today };
      const [models, report] = await Promise.all([
        get<Model[]>("/models"),
        hasCommand("report")
          ? get<Report>("/report", { ...month, limit: REPORTED_MAX })
          : undefined,
      ]);
      const sums = new Map(report?.rows.map((row) => [row.model, row]));
      const rows = models
        .filter((model) => offered === "" || model.offered === (offered === "yes"))
        .filter(({ id, routes }) =>
          [id, ...routes.map(({ upstream }) => upstream)].some((text) => text.includes(query)),
        )
        .map((model) => ({ ...model, sums: sums.get(model.id) }));
      const [version] = new Set(models.map(({ catalogue }) => catalogue));
      return {
        rows,
        note: el("p", { class: "hint" }, t("models.version", { version: version ?? "" })),
      };
    },
    command: () => commandText("models"),
    file: "models",
    none: t("search.none"),
  });
  fill(root, pageHead(t("nav.models"), t("models.lead")), element);
}

function callsOf(id: string): HTMLElement {
  return el("a", { href: `${BASE}/calls?${new URLSearchParams({ model: id })}` }, id);
}

function marginText(percent: number | null | undefined): string {
  return percent === null || percent === undefined ? "–" : `${number(percent, 1)}%`;
}
