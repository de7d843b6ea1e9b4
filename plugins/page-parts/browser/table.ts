import { type Child, el } from "./dom.ts";

/** A column: its title, and the cell of a row. */
export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  /** The class of its head and cells, by which a style sheet places them; with it `isNumber` is not read. */
  readonly kind?: string;
  cell(row: Row): Child;
}

/** A text of this length, such as a time, stays on one line on a wide screen. */
const SHORT_MAX = 17;

/**
 * A table of lines that `lineOf` has made. As `blocks`, each becomes a block with its column names next to the values on a
 * phone. The caption is for screen readers; empty if what is around it has a name. Pages of the console take a section or a
 * list, whose tables have a filter, a CSV file and a command.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  lines: readonly HTMLElement[],
  look = "data blocks",
): HTMLTableElement {
  return el(
    "table",
    { class: look },
    caption !== "" && el("caption", { class: "hidden" }, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        columns.map(({ title, isNumber, kind }) =>
          el("th", { scope: "col", class: kind ?? (isNumber && "number") }, title),
        ),
      ),
    ),
    el("tbody", {}, lines),
  );
}

/** The line of a row in a table. */
export function lineOf<Row>(columns: readonly Column<Row>[], row: Row): HTMLElement {
  return el(
    "tr",
    {},
    columns.map(({ title, isNumber, kind, cell }) => {
      const content = el("span", {}, cell(row));
      const isShort = content.textContent.length <= SHORT_MAX;
      const look = kind ?? (isNumber ? "number" : isShort && "short");
      return el("td", { class: look, "data-label": title }, content);
    }),
  );
}

/** A list of names and values. */
export function pairs(rows: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  return el(
    "dl",
    { class: "pairs" },
    rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note?: Child;
  readonly href?: string;
  readonly title?: string;
}

/** Figures side by side; one with an address is a link to its rows. */
export function figures(all: readonly Figure[], look = "totals"): HTMLElement {
  return el(
    "div",
    { class: look },
    all.map(({ name, value, note, href, title }) =>
      el(
        href === undefined ? "div" : "a",
        { href, title },
        el("span", { class: "hint" }, name),
        el("strong", {}, value),
        note !== undefined && el("small", { class: "hint" }, note),
      ),
    ),
  );
}
