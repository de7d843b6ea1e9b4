import { announce } from "../../page-parts/browser/announce.ts";
import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { notice } from "../../page-parts/browser/form.ts";
import { type Column, lineOf, table } from "../../page-parts/browser/table.ts";
import { setQuery } from "./address.ts";
import { commandLine } from "./command-line.ts";
import { downloadCsv } from "./download.ts";
import { withoutSecret } from "./secret.ts";
import { t } from "./text.ts";

const SEEN_MAX = 12;

interface Section<Row> {
  readonly title: string;
  readonly above?: Child;
  readonly rows: readonly Row[];
  /** How many rows were asked for; with so many rows there can be more. */
  readonly rowsMax?: number;
  readonly columns: readonly Column<Row>[];
  /** Shown if there are no rows. */
  readonly none: Child;
  readonly below?: Child;
  /** The name of the CSV file, without its end, and of the filter in the address: unique on a page. */
  readonly file: string;
  /** The command that prints the rows. */
  readonly command: string;
}

/** A part of a page with rows, their filter, their CSV file, and the command that prints them. */
export function section<Row extends object>(of: Section<Row>): HTMLElement {
  return el("section", { class: "card rows" }, el("h2", {}, of.title), contentOf(of));
}

/** The same within a card. */
export function subsection<Row extends object>(of: Section<Row>): HTMLElement {
  return el("div", { class: "rows" }, el("h3", {}, of.title), contentOf(of));
}

function contentOf<Row extends object>(of: Section<Row>): Child {
  const { title, above, rows, rowsMax, columns, none, below, file, command } = of;
  const lines = rows.map((row) => ({ row, line: lineOf(columns, row) }));
  const id = `rows-${file}`;
  // A page that is read again stays as long as the reader has made it.
  const isWhole = document.getElementById(id)?.hasAttribute("data-whole");
  const place = el("div", { id, class: "stack", "data-whole": isWhole });
  const more = el("button", { type: "button", class: "small" }, t("more"));
  const found = () => {
    const words = plain(filter.value).split(/\s+/).filter(Boolean);
    if (words.length === 0) return lines;
    return lines.filter(({ line }) => {
      const text = shownText(line);
      return words.every((word) => text.includes(word));
    });
  };
  const draw = (): number => {
    const all = found();
    // The parts below stay in reach.
    const seen = place.hasAttribute("data-whole") ? all : all.slice(0, SEEN_MAX);
    fill(
      place,
      seen.length > 0
        ? table(
            title,
            columns,
            seen.map(({ line }) => line),
          )
        : el("p", { class: "hint" }, t("search.none")),
      seen.length < all.length && more,
    );
    return all.length;
  };
  const filter = filterOf(title, file, () => announce(t("list.count", { count: draw() })));
  more.addEventListener("click", () => {
    place.setAttribute("data-whole", "");
    draw();
  });
  draw();
  const csv = smallButton(t("list.csv"), file, () =>
    downloadCsv(
      file,
      found().map(({ row }) => row),
      rows[0],
    ),
  );
  const empty = typeof none === "string" ? el("p", { class: "hint" }, none) : none;
  return [
    rows.length > 0 && filter,
    above,
    rows.length === rowsMax && notice("info", t("list.cut", { count: rowsMax })),
    rows.length > 0 ? place : empty,
    below,
    commandLine(command, csv),
  ];
}

/** A field for words of the rows that are sought. The address has them, so that a reload and a link show the same rows. */
function filterOf(title: string, file: string, changed: () => void): HTMLInputElement {
  const text = t("list.filter");
  const filter = el("input", {
    ...{ type: "search", class: "filter", name: file, placeholder: text, autocomplete: "off" },
    ...{ "aria-label": `${text}: ${title}`, maxlength: 100 },
    value: new URLSearchParams(location.search).get(file) ?? "",
  });
  filter.addEventListener("input", () => {
    const words = withoutSecret(filter.value);
    if (words !== filter.value) filter.value = words;
    // As the page will be drawn if it is read again: then nothing differs.
    filter.setAttribute("value", words);
    changed();
    setQuery({ [file]: words === "" ? undefined : words });
  });
  filter.addEventListener("compositionstart", () => filter.setAttribute("data-composing", ""));
  filter.addEventListener("compositionend", () => filter.removeAttribute("data-composing"));
  return filter;
}

/** Returns what a row shows, without the names of its buttons, for a comparison. */
function shownText(line: HTMLElement): string {
  const copy = el("tr", {}, [...line.cloneNode(true).childNodes]);
  for (const button of copy.querySelectorAll("button")) button.remove();
  return plain([...copy.children].map((cell) => cell.textContent).join(" "));
}

/** Returns a text in lower case, without the marks of Vietnamese letters. */
export function plain(text: string): string {
  return text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replaceAll("đ", "d");
}

/** A button of a row or a part: `of` says to a screen reader what it is about. */
export function smallButton(text: string, of: string, onclick: () => void, kind = ""): HTMLElement {
  return el(
    "button",
    { type: "button", class: `small ${kind}`.trim(), "aria-label": `${text}: ${of}`, onclick },
    text,
  );
}
