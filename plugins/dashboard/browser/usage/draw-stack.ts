import type uPlot from "uplot";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { onDemand } from "../../../page-parts/browser/on-demand.ts";
import { whenColoursChange } from "../../../page-parts/browser/theme.ts";
import { t } from "../text.ts";
import { type Bar, barLabel, barName, type Stack } from "./stack.ts";

const HEIGHT = 260;
/** Number of layer colours in the style sheet. */
const COLOURS = 6;

interface Formats {
  /** `show` formats a value in full, `short` for an axis. */
  readonly show: (value: number) => string;
  readonly short: (value: number) => string;
  /** Called when the customer clicks a bar. */
  readonly chosen: (bar: Bar) => void;
}

/**
 * Draws a stack as bars. The legend shows the values of the bar under the pointer. Ends when
 * `ended` aborts.
 */
export async function drawStack(
  place: HTMLElement,
  legend: HTMLElement,
  stack: Stack,
  formats: Formats,
  ended: AbortSignal,
): Promise<void> {
  const Plot = await loadPlot();
  if (ended.aborted) return;
  const { data, series } = layersOf(stack);
  let plot: uPlot | undefined;

  const draw = () => {
    plot?.destroy();
    const colours = getComputedStyle(place);
    const colour = (name: string) => colours.getPropertyValue(name).trim();
    const bars = Plot.paths.bars;
    if (!bars) throw new Error("this build of the charts has no bars");
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    const options: uPlot.Options = {
      width: Math.max(place.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: (_, min, max) => [min - 0.5, max + 0.5] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 64,
          size: 28,
          incrs: [1, 2, 3, 5, 7, 14, 30, 60, 90, 180, 365],
          values: (_, at) =>
            at.map((one) => {
              const bar = stack.bars[one];
              return bar ? barLabel(stack, bar) : "";
            }),
        },
        { ...axis, size: 96, values: (_, at) => at.map(formats.short) },
      ],
      series: [
        {},
        ...series.map((at) => ({
          fill: colour(`--layer-${(at % COLOURS) + 1}`),
          width: 0,
          points: { show: false },
          paths: bars({ size: [0.72, 36], radius: [0.15, 0] }),
        })),
      ],
      hooks: { setCursor: [(self) => showLegend(legend, stack, formats, self.cursor.idx)] },
    };
    plot = new Plot(options, data, place);
    const { over } = plot;
    over.addEventListener("click", () => {
      const bar = stack.bars[plot?.cursor.idx ?? -1];
      if (bar) formats.chosen(bar);
    });
  };
  draw();
  showLegend(legend, stack, formats, null);
  const sizes = new ResizeObserver(() => {
    plot?.setSize({ width: Math.max(place.clientWidth, 200), height: HEIGHT });
  });
  sizes.observe(place);
  const stopListening = whenColoursChange(draw);
  ended.addEventListener("abort", () => {
    sizes.disconnect();
    stopListening();
    plot?.destroy();
  });
}

/** Adds up the layers. The tallest is drawn first, and each smaller one over it. */
function layersOf({ bars, series }: Stack): { data: uPlot.AlignedData; series: number[] } {
  const layers: number[][] = [];
  const below = bars.map(() => 0);
  for (const { values } of series) {
    for (const [at, value] of values.entries()) below[at] = (below[at] ?? 0) + value;
    layers.push([...below]);
  }
  const order = series.map((_, at) => at).reverse();
  return { data: [bars.map((_, at) => at), ...layers.reverse()], series: order };
}

function showLegend(
  legend: HTMLElement,
  stack: Stack,
  formats: Formats,
  at: number | null | undefined,
): void {
  const bar = stack.bars[at ?? -1];
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const value = (values: readonly number[]) => (bar ? (values[at ?? -1] ?? 0) : sum(values));
  const { series } = stack;
  fill(
    legend,
    el(
      "li",
      { class: "legend-day" },
      el("span", {}, bar ? barName(stack, bar) : t("usage.wholeperiod")),
      el("strong", {}, formats.show(sum(series.map(({ values }) => value(values))))),
    ),
    series.map(({ name, values }, index) =>
      el(
        "li",
        {},
        el("span", { class: `swatch layer-${(index % COLOURS) + 1}` }),
        el("span", {}, name),
        el("strong", {}, formats.show(value(values))),
      ),
    ),
  );
}

/** Loads the chart library and its styles on first use. */
export async function loadPlot(): Promise<typeof uPlot> {
  const style = new URL("../vendor/uplot.css", import.meta.url).pathname;
  if (!document.querySelector(`link[href="${style}"]`)) {
    document.head.append(el("link", { rel: "stylesheet", href: style }));
  }
  return (await onDemand(import("uplot"))).default;
}
