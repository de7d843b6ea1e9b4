/** The script of a report: draws its charts. It is part of the page, beside uPlot and the data. */
import type Plot from "uplot";
import type { Run } from "./run.ts";

declare const uPlot: typeof Plot;

type Axis = NonNullable<Plot.Options["axes"]>[number];

const HEIGHT = 280;
const COLOURS = ["#0b7a53", "#c4570e", "#3557b7", "#8a3ab9", "#777777", "#0a8a9f"];
const RED = "#c9252d";

const runs: Run[] = JSON.parse(document.getElementById("runs")?.textContent ?? "[]");
const ink = getComputedStyle(document.body).color;
/** Steps between whole seconds. */
const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200];
/** A shorter part of a second has no rate. */
const PART_MIN = 0.2;
const grid = { stroke: "rgba(128,128,128,.25)", width: 1 };

function axis(label: string, more: Axis = {}): Axis {
  return { label, stroke: ink, grid, ticks: grid, ...more };
}

function draw(
  id: string,
  series: Plot.Series[],
  data: (number | null)[][],
  more: Partial<Plot.Options>,
): void {
  const place = document.getElementById(id);
  if (!place) return;
  const width = () => place.clientWidth;
  const plot = new uPlot(
    { width: width(), height: HEIGHT, series, ...more },
    data as Plot.AlignedData,
    place,
  );
  window.addEventListener("resize", () => plot.setSize({ width: width(), height: HEIGHT }));
}

/** Each run's share of calls by their time, on one axis. */
function drawHistogram(): void {
  const columns = runs.map(({ report }) => new Map(report.columns));
  const all = [...new Set(columns.flatMap((each) => [...each.keys()]))].sort((a, b) => a - b);
  if (all.length === 0) return;
  const step = 10 ** (1 / 20);
  const ends: number[] = [];
  for (let at = all[0]! / step; at <= all.at(-1)! * step * 1.01; at *= step) ends.push(at);
  const shares = columns.map((each, at) => {
    const keys = [...each.keys()];
    return ends.map((from) => {
      const key = keys.find((other) => Math.abs(other / from - 1) < 0.01);
      return ((key === undefined ? 0 : each.get(key)!) / runs[at]!.report.calls) * 100;
    });
  });
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  draw(
    "histogram",
    [
      { label: "from", value: (_, us) => (us === null ? "" : showMs(us)) },
      ...runs.map((run, at) => ({
        label: run.name,
        stroke: COLOURS[at % COLOURS.length]!,
        fill: `${COLOURS[at % COLOURS.length]}33`,
        ...(stepped && { paths: stepped }),
        points: { show: false },
        value: (_: Plot, share: number | null) => `${(share ?? 0).toFixed(2)} %`,
      })),
    ],
    [ends, ...shares],
    {
      scales: { x: { time: false, distr: 3 } },
      axes: [
        axis("time of a call", { values: (_, marks) => marks.map((us) => (us ? showMs(us) : "")) }),
        axis("% of good calls"),
      ],
    },
  );
}

function drawTimeline(): void {
  const length = Math.max(...runs.map(({ report }) => report.timeline.length));
  const seconds = Array.from({ length }, (_, at) => at + 1);
  type Second = Run["report"]["timeline"][number];
  // The last second is not whole: its calls count for the part of it that there was.
  const rateOf = (run: Run, of: (second: Second) => number) =>
    lineOf(run, of).map((count, at) => {
      const part = Math.min(1, run.report.seconds - at);
      return count === null || part < PART_MIN ? null : Math.round(count / part);
    });
  const lineOf = ({ report }: Run, of: (second: Second) => number | null) =>
    seconds.map((_, at) => (report.timeline[at] ? of(report.timeline[at]) : null));
  const rates: Plot.Series[] = [{ label: "second" }];
  const times: Plot.Series[] = [{ label: "second" }];
  const rateLines: (number | null)[][] = [seconds];
  const timeLines: (number | null)[][] = [seconds];
  for (const [at, run] of runs.entries()) {
    const stroke = COLOURS[at % COLOURS.length]!;
    const name = runs.length > 1 ? `${run.name}: ` : "";
    rates.push({ label: `${name}good`, stroke, width: 2 });
    rateLines.push(rateOf(run, ({ calls }) => calls));
    if (run.report.errors > 0) {
      rates.push({ label: `${name}failed`, stroke: RED, width: 2, dash: at === 0 ? [] : [6, 4] });
      rateLines.push(rateOf(run, ({ errors }) => errors));
    }
    const value = (_: Plot, us: number | null) => (us === null ? "" : showMs(us));
    times.push({ label: `${name}p50`, stroke, width: 1, dash: [4, 3], value });
    timeLines.push(lineOf(run, ({ calls, p50Us }) => (calls > 0 ? p50Us : null)));
    times.push({ label: `${name}p99`, stroke, width: 2, value });
    timeLines.push(lineOf(run, ({ calls, p99Us }) => (calls > 0 ? p99Us : null)));
  }
  const x = { time: false } as const;
  draw("rates", rates, rateLines, {
    scales: { x, y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [axis("second", { incrs: SECONDS }), axis("calls")],
  });
  draw("times", times, timeLines, {
    scales: { x, y: { distr: 3 } },
    axes: [
      axis("second", { incrs: SECONDS }),
      axis("time of a call", {
        size: 70,
        values: (_, marks) => marks.map((us) => (us ? showMs(us) : "")),
      }),
    ],
  });
}

function showMs(us: number): string {
  if (us < 1_000) return `${Number(us.toPrecision(2))} µs`;
  if (us < 1_000_000) return `${Number((us / 1_000).toPrecision(3))} ms`;
  return `${Number((us / 1_000_000).toPrecision(3))} s`;
}

drawHistogram();
drawTimeline();
