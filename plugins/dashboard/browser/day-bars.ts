import { el, svg } from "../../page-parts/browser/dom.ts";
import { dayBefore, dayShort, number, vnd } from "../../page-parts/browser/format.ts";
import type { Sum } from "./contract.ts";
import { t } from "./text.ts";

const WIDTH = 560;
const HEIGHT = 96;
const GAP = 6;

/**
 * A bar for the cost of each of the last days. Screen readers get the sum; the usage page has a
 * table.
 */
export function dayBars(days: number, sums: readonly Sum[]): HTMLElement {
  const all = Array.from({ length: days }, (_, at) => {
    const day = dayBefore(days - 1 - at);
    const sum = sums.find((one) => one.day === day);
    return { day, cost: Number(sum?.cost_vnd ?? 0), calls: sum?.calls ?? 0 };
  });
  const cost = all.reduce((total, one) => total + one.cost, 0);
  const calls = all.reduce((total, one) => total + one.calls, 0);
  const most = Math.max(...all.map((one) => one.cost), 1e-6);
  const width = WIDTH / days - GAP;
  const label = t("overview.daysum", { cost: vnd(cost), calls: number(calls) });
  const bars = all.map((one, at) => {
    const height = one.cost === 0 ? 2 : Math.max(4, (one.cost / most) * HEIGHT);
    const title = `${dayShort(one.day)}: ${vnd(one.cost)}, ${t("calls.count", { count: number(one.calls) })}`;
    return svg(
      "rect",
      {
        class: one.cost === 0 ? "bar none" : "bar",
        x: at * (width + GAP) + GAP / 2,
        y: HEIGHT - height,
        width,
        height,
        rx: 3,
      },
      svg("title", {}, title),
    );
  });
  return el(
    "figure",
    { class: "day-bars" },
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: "img",
        "aria-label": label,
        preserveAspectRatio: "none",
      },
      bars,
    ),
    el(
      "figcaption",
      {},
      el("span", {}, dayShort(all[0]?.day ?? "")),
      el("strong", {}, label),
      el("span", {}, t("today")),
    ),
  );
}
