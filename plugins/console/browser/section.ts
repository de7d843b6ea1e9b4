import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { card } from "../../page-parts/browser/page-head.ts";
import { commandLine } from "./command-line.ts";
import { downloadCsv } from "./download.ts";
import { type Column, table } from "./table.ts";
import { t } from "./text.ts";

const SEEN_MAX = 12;

interface Section<Row> {
  readonly title: string;
  readonly above?: Child;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Shown if there are no rows. */
  readonly none: Child;
  readonly below?: Child;
  /** The name of the CSV file, without its end. */
  readonly file: string;
  /** The command that prints the rows. */
  readonly command: string;
}

/** A part of a page with rows, their CSV file, and the command that prints them. */
export function section<Row extends object>(of: Section<Row>): HTMLElement {
  const { title, above, rows, columns, none, below, file, command } = of;
  const empty = typeof none === "string" ? el("p", { class: "hint" }, none) : none;
  return card(
    title,
    above,
    rows.length > 0 ? folded(title, columns, rows) : empty,
    below,
    commandLine(command, rows.length > 0 && csvButton(file, rows)),
  );
}

/** A table of which only the first rows are seen until a button is pressed, so that what is below stays in reach. */
function folded<Row extends object>(
  title: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Child {
  if (rows.length <= SEEN_MAX) return table(title, columns, rows);
  const place = el("div", { class: "stack" }, table(title, columns, rows.slice(0, SEEN_MAX)));
  const more = el("button", { type: "button", class: "small" }, t("more"));
  more.addEventListener("click", () => fill(place, table(title, columns, rows)));
  place.append(more);
  return place;
}

export function csvButton(file: string, rows: readonly object[]): HTMLElement {
  return smallButton(t("list.csv"), `CSV: ${file}`, () => downloadCsv(file, rows));
}

/** A button of a row or a part: `of` says to a screen reader what it is about. */
export function smallButton(text: string, of: string, onclick: () => void, kind = ""): HTMLElement {
  return el(
    "button",
    { type: "button", class: `small ${kind}`.trim(), "aria-label": `${text}: ${of}`, onclick },
    text,
  );
}
