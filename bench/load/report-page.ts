import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { escaped } from "../../plugins/page-parts/escaped.ts";
import {
  cellsOfChange,
  cellsOfTimes,
  PERCENTILES,
  type Run,
  showCount,
  timesOf,
  warningsOf,
} from "./run.ts";
import { chargesText, generatorText, outcomeOf } from "./summary.ts";

const STYLE = `
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem;
  color: light-dark(#1a1d1b, #e6e9e7); background: light-dark(#fff, #14171a) }
h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100% } .wide { overflow-x: auto }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #8884; font-variant-numeric: tabular-nums }
th:first-child, td:first-child, .text { text-align: left } td.text { word-break: break-word }
.note { border-left: 4px solid #c4820e; padding: .4rem .8rem; margin: .5rem 0; background: #c4820e1f }
.bad { border-color: #c9252d; background: #c9252d1f } .good { border-color: #0b7a53; background: #0b7a531f }
.quiet { opacity: .7 } .u-legend { font-size: 13px }`;

/** A table of a report, by its title. */
type Table = readonly [title: string, rows: readonly Readonly<Record<string, string>>[]];

/**
 * Returns a page about runs of the load, the newest first, with tables of other measurements and what makes all figures
 * doubtful. It needs no other file and no network.
 */
export function reportPage(
  runs: readonly Run[],
  tables: readonly Table[] = [],
  warnings: readonly string[] = [],
): string {
  const [run] = runs;
  if (!run) throw new Error("a report needs a run");
  const data = JSON.stringify(runs).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Load: ${escaped(run.name)}</title>
<style>${ofPackage("uplot/dist/uPlot.min.css")}${STYLE}</style>
<h1>${runs.map(({ name }) => escaped(name)).join(" <span class=quiet>and</span> ")}</h1>
${warnings.map(noteOf).join("\n")}
${runs.map((each, at) => introduction(each, runs[at + 1])).join("\n")}
${tables.map(otherTable).join("\n")}
<h2>Times of good calls</h2>
<div class="wide">${timesTable(runs)}</div>
<h2>Calls by their time</h2><div id="histogram"></div>
<h2>Calls in each second</h2><div id="rates"></div>
<h2>Times in each second</h2><div id="times"></div>
${runs.map(failuresTable).join("\n")}
<script type="application/json" id="runs">${data}</script>
<script>${ofPackage("uplot/dist/uPlot.iife.min.js")}</script>
<script type="module">${readFileSync(new URL("report-charts.js", import.meta.url), "utf8").replace(/^\/\/# sourceMappingURL.*$/m, "")}</script>
</html>
`;
}

function ofPackage(file: string): string {
  return readFileSync(createRequire(import.meta.url).resolve(file), "utf8");
}

function otherTable([title, rows]: Table): string {
  const names = Object.keys(rows[0] ?? {});
  const line = (cells: readonly string[], tag: "th" | "td") =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  const lines = rows.map((row) =>
    line(
      names.map((name) => row[name] ?? ""),
      "td",
    ),
  );
  return `<h2>${escaped(title)}</h2>
<div class="wide"><table>${line(names, "th")}${lines.join("")}</table></div>`;
}

function introduction(run: Run, earlier: Run | undefined): string {
  const { report, charges, limits } = run;
  const notes = warningsOf(run, earlier).map(noteOf);
  const kept = limits.map(
    ({ name, bound, value, isKept }) =>
      `<p class="note ${isKept ? "good" : "bad"}">${isKept ? "Kept" : "Not kept"}: ${name} ${escaped(bound)}, is ${escaped(value)}</p>`,
  );
  return `<p><b>${escaped(run.name)}</b>: ${escaped(outcomeOf(report))}<br>
<span class="quiet">${escaped(`${run.url}; ${run.call}; ${run.load}; ${run.startedAt}`)}<br>${generatorText(run)}</span></p>
${charges ? `<p>${escaped(chargesText(charges, report))}</p>` : ""}
${kept.join("\n")}
${notes.join("\n")}`;
}

function noteOf(warning: string): string {
  return `<p class="note${warning.startsWith("Void") ? " bad" : ""}">${escaped(warning)}</p>`;
}

function timesTable(runs: readonly Run[]): string {
  const names = Object.values(PERCENTILES);
  const head = `<tr><th></th>${names.map((name) => `<th>${name}</th>`).join("")}</tr>`;
  const several = runs.length > 1;
  const rows = runs.flatMap((run) =>
    [...timesOf(run.report)].map(([name, times]) =>
      rowOf(several ? `${run.name}: ${name}` : name, cellsOfTimes(times)),
    ),
  );
  if (runs.length === 2) {
    const [now, before] = runs.map(({ report }) => timesOf(report));
    for (const [name, times] of now ?? []) {
      const old = before?.get(name);
      if (old) rows.push(rowOf(`change of ${name}`, cellsOfChange(times, old)));
    }
  }
  return `<table>${head}${rows.join("")}</table>`;
}

function rowOf(name: string, cells: Readonly<Record<string, string>>): string {
  const values = Object.values(PERCENTILES).map((each) => `<td>${escaped(cells[each] ?? "")}</td>`);
  return `<tr><td>${escaped(name)}</td>${values.join("")}</tr>`;
}

function failuresTable({ name, report }: Run): string {
  if (report.failures.length === 0) return "";
  const rows = report.failures.map(
    ({ kind, count, body }) =>
      `<tr><td>${escaped(kind)}</td><td>${showCount(count)}</td><td class="text">${escaped(body)}</td></tr>`,
  );
  return `<h2>Failed calls of ${escaped(name)}</h2>
<table><tr><th>kind</th><th>calls</th><th class="text">first reply</th></tr>${rows.join("")}</table>`;
}
