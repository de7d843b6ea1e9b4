import { badge } from "../../../page-parts/browser/badge.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import {
  dateTime,
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
import type { Model, RecordedPrice, Report, SumsRow } from "../contract.ts";
import { limited, list } from "../list.ts";
import { priceColumns, reloadPart } from "../price-reload.ts";
import { plain } from "../section.ts";
import { get, hasCommand } from "../session.ts";
import { t } from "../text.ts";

interface Sold extends Model {
  /** Its calls of this month; undefined if there are none. */
  readonly sums: SumsRow | undefined;
}

const REPORTED_MAX = 10_000;

const PARTS = ["", "history", "reload"] as const;

/** The models with their prices; the history of prices; or a reload of the config's file. */
export function render({ root, rest, signal }: PageContext): void {
  const parts = hasCommand("prices history") ? PARTS : [];
  const part = parts.find((one) => one === rest) ?? "";
  const element = { "": running, history, reload: reloadPart }[part](signal);
  const links = parts.map((one) =>
    el(
      "a",
      {
        class: "button",
        href: `${BASE}/models${one === "" ? "" : `/${one}`}`,
        "aria-current": one === part ? "page" : undefined,
      },
      t(`models.part.${one === "" ? "running" : one}`),
    ),
  );
  fill(root, pageHead(t("nav.models"), t("models.lead"), links), element);
}

/** Who changed which price, newest first. */
function history(signal: AbortSignal): HTMLElement {
  const { element } = list<RecordedPrice>({
    title: t("models.part.history"),
    signal,
    filters: [{ name: "model", label: t("model"), type: "search" }],
    columns: [
      { title: t("time"), cell: ({ at }) => dateTime(at) },
      ...priceColumns<RecordedPrice>(),
      {
        title: t("price.who"),
        cell: ({ operator, remote_address }) => `${operator} ${remote_address}`,
      },
    ],
    async load(filters, limit, next) {
      const rows = await get<RecordedPrice[]>("/prices/history", { ...filters, limit, ...next });
      return limited(rows, limit, ({ id }) => id);
    },
    command: (filters) => commandText("prices history", filters),
    file: "price-history",
    none: t("models.history.none"),
  });
  return element;
}

/** The prices that run, and what each model brought and cost this month. */
function running(signal: AbortSignal): HTMLElement {
  const month = { from: `${dayBefore(0).slice(0, 7)}-01`, to: dayBefore(0) };
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
      { title: t("model"), cell: ({ id }) => callsOf(id) },
      {
        title: t("models.price"),
        cell: (model) => [
          el(
            hasCommand("prices history") ? "a" : "span",
            { href: `${BASE}/models/history?${new URLSearchParams({ model: model.id })}` },
            priceText(model),
          ),
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
        cell: ({ id, sums }) => (sums ? callsOf(id, vnd(sums.revenue_vnd), month) : "–"),
      },
      {
        title: t("report.cost"),
        isNumber: true,
        cell: ({ id, sums }) =>
          sums === undefined || sums.cost_vnd === null
            ? "–"
            : callsOf(id, vnd(sums.cost_vnd), month),
      },
      {
        title: t("report.margin"),
        isNumber: true,
        cell: ({ id, sums }) =>
          sums === undefined || sums.margin_percent === null
            ? "–"
            : el(
                "span",
                { class: sums.below_cost_calls > 0 && "below" },
                callsOf(id, `${number(sums.margin_percent, 1)}%`, month),
              ),
      },
      {
        title: t("models.offered"),
        cell: ({ offered }) => badge(offered ? "good" : "info", t(offered ? "yes" : "no")),
      },
    ],
    async load({ query = "", offered = "" }, limit, { offset = "0" }) {
      const [models, report] = await Promise.all([
        get<Model[]>("/models"),
        hasCommand("report")
          ? get<Report>("/report", { by: "model", ...month, limit: REPORTED_MAX })
          : undefined,
      ]);
      const sums = new Map(report?.rows.map((row) => [row.model, row]));
      const rows = models
        .filter((model) => offered === "" || model.offered === (offered === "yes"))
        .filter(({ id, routes }) =>
          [id, ...routes.map(({ upstream }) => upstream)].some((text) =>
            plain(text).includes(plain(query)),
          ),
        )
        .map((model) => ({ ...model, sums: sums.get(model.id) }));
      const [version] = new Set(models.map(({ catalogue }) => catalogue));
      const end = Number(offset) + limit;
      return {
        rows: rows.slice(Number(offset), end),
        next: end < rows.length ? { offset: String(end) } : undefined,
        note: el("p", { class: "hint" }, t("models.version", { version: version ?? "" })),
      };
    },
    command: () => commandText("models"),
    file: "models",
    none: t("search.none"),
  });
  return element;
}

/** A sum of a model's calls, or its name, which leads to them. */
function callsOf(model: string, text = model, period: Readonly<Record<string, string>> = {}) {
  return el("a", { href: `${BASE}/calls?${new URLSearchParams({ model, ...period })}` }, text);
}
