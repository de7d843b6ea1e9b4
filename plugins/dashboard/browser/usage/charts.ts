import { el, fill } from "../../../page-parts/browser/dom.ts";
import { compact, number, vnd } from "../../../page-parts/browser/format.ts";
import { failed } from "../../../page-parts/browser/page-head.ts";
import { segments } from "../../../page-parts/browser/segments.ts";
import { get } from "../api.ts";
import type { Sum, Sums, Total } from "../contract.ts";
import { t } from "../text.ts";
import { drawStack } from "./draw-stack.ts";
import type { Filter } from "./filters.ts";
import { type Bar, barName, type Stack, stackOf } from "./stack.ts";

const MEASURES = ["cost", "calls", "tokens"] as const;
const GROUPS = ["model", "key"] as const;
type Measure = (typeof MEASURES)[number];

/**
 * Cost, calls or tokens per day, week or month, by model or key: as a chart, and as a table for screen readers.
 * `names`: those of the keys. `chosen`: called with the bar that the customer chooses.
 */
export function usageCharts(
  names: ReadonlyMap<string, string>,
  signal: AbortSignal,
  chosen: (bar: Bar) => void,
): { element: HTMLElement; show: (filter: Filter) => Promise<void> } {
  const body = el("div", { class: "chart-body" });
  const totals = el("div", { class: "totals", "aria-live": "polite" });
  const measure = segments(
    t("usage.measure"),
    MEASURES,
    (one) => t(`usage.measure.${one}`),
    redraw,
  );
  const group = segments(t("usage.group"), GROUPS, (one) => t(`usage.group.${one}`), reload);
  const element = el(
    "section",
    { class: "card" },
    totals,
    el("div", { class: "row spread" }, measure.element, group.element),
    body,
  );
  let filter: Filter | undefined;
  let shown: Sums | undefined;
  let drawn: AbortController | undefined;
  let latestRequest = 0;
  let isTableOpen = false;
  signal.addEventListener("abort", () => drawn?.abort());

  async function reload(): Promise<void> {
    if (!filter) return;
    latestRequest += 1;
    const request = latestRequest;
    try {
      const by = `day,${group.value()}`;
      const sums = await get<Sums>("/usage/summary", { by, ...filter });
      if (signal.aborted || request !== latestRequest) return;
      shown = sums;
      await redraw();
    } catch (error) {
      if (signal.aborted || request !== latestRequest) return;
      // They are of the period before.
      shown = undefined;
      fill(totals);
      fill(
        body,
        failed(error, () => void reload()),
      );
    }
  }

  async function redraw(): Promise<void> {
    if (!filter || !shown) return;
    const { data: sums, total, cut } = shown;
    drawn?.abort();
    drawn = new AbortController();
    fill(totals, totalsOf(total));
    if (sums.length === 0) return fill(body, el("p", { class: "empty" }, t("usage.none")));
    const nameOf = (sum: Sum) => {
      return sum.model ?? names.get(sum.key ?? "") ?? t("calls.unknownkey");
    };
    const stack = stackOf(
      sums,
      filter,
      nameOf,
      (sum) => measured(sum, measure.value()),
      t("usage.others"),
    );
    const isCost = measure.value() === "cost";
    const formats = {
      show: (value: number) => (isCost ? vnd(value) : number(value)),
      short: (value: number) => (isCost ? `${compact(value)} đ` : compact(value)),
      chosen,
    };
    const canvas = el("div", { class: "chart", "aria-hidden": "true" });
    const legend = el("ul", { class: "legend" });
    const newest = cut ? el("p", { class: "hint" }, t("usage.cut")) : [];
    const table = dataTable(stack, formats);
    table.open = isTableOpen;
    table.addEventListener("toggle", () => {
      isTableOpen = table.open;
    });
    fill(body, newest, canvas, legend, table);
    await drawStack(canvas, legend, stack, formats, drawn.signal);
  }

  return {
    element,
    async show(wanted) {
      filter = wanted;
      await reload();
    },
  };
}

function measured(sum: Sum, measure: Measure): number {
  if (measure === "calls") return sum.calls;
  return measure === "cost" ? Number(sum.cost_vnd) : sum.input_tokens + sum.output_tokens;
}

function totalsOf(total: Total): HTMLElement[] {
  const figures = [
    [t("usage.measure.cost"), vnd(Number(total.cost_vnd))],
    [t("usage.measure.calls"), number(total.calls)],
    [t("calls.input"), compact(total.input_tokens)],
    [t("calls.output"), compact(total.output_tokens)],
  ] as const;
  return figures.map(([name, value]) =>
    el("div", {}, el("span", { class: "hint" }, name), el("strong", {}, value)),
  );
}

function dataTable(
  stack: Stack,
  { show, chosen }: { show: (value: number) => string; chosen: (bar: Bar) => void },
): HTMLDetailsElement {
  const bars = stack.bars
    .map((bar, at) => ({ bar, at }))
    .filter(({ at }) => stack.series.some((one) => (one.values[at] ?? 0) > 0));
  return el(
    "details",
    {},
    el("summary", {}, t("usage.astable")),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": t("usage.astable") },
      el(
        "table",
        { class: "data" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, t(`usage.unit.${stack.unit}`)),
            stack.series.map(({ name }) => el("th", { scope: "col", class: "number" }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          bars.map(({ bar, at }) =>
            el(
              "tr",
              {},
              el(
                "th",
                { scope: "row" },
                el(
                  "button",
                  { type: "button", class: "link", onclick: () => chosen(bar) },
                  barName(stack, bar),
                ),
              ),
              stack.series.map(({ values }) =>
                el("td", { class: "number" }, show(values[at] ?? 0)),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
