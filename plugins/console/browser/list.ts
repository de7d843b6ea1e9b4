import { announce } from "../../page-parts/browser/announce.ts";
import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { busy, choice, field, notice } from "../../page-parts/browser/form.ts";
import { number } from "../../page-parts/browser/format.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { card, failed, waiting } from "../../page-parts/browser/page-head.ts";
import { type Column, lineOf, table } from "../../page-parts/browser/table.ts";
import { setQuery } from "./address.ts";
import { commandLine } from "./command-line.ts";
import { downloadCsv } from "./download.ts";
import { findAccount } from "./find-account.ts";
import { withoutSecret } from "./secret.ts";
import { t } from "./text.ts";
import { whenChosen } from "./when-chosen.ts";

const SHOWN = 50;
/** Maximum rows in one reply of the admin API. */
const PAGE_MAX = 1_000;
/** Maximum pages in a CSV file. The list says so if there are more. */
const PAGES_MAX = 20;

/** The filters of a list by their names, as the address has them. */
type Filters = Readonly<Record<string, string>>;

interface Filter {
  readonly name: string;
  readonly label: string;
  /** The options of a choice: value and text. Without them it is a text. */
  readonly options?: readonly (readonly [value: string, text: string])[];
  /** A date may be a time too, if the address has one. */
  readonly type?: "text" | "date" | "datetime-local" | "search";
  /** The value without one in the address. */
  readonly standard?: string;
}

interface Found<Row> {
  readonly rows: readonly Row[];
  /** The query of the next page; undefined if there is none. */
  readonly next?: Filters | undefined;
  /** True if there are more rows that no page has. */
  readonly isCut?: boolean;
  /** Said above the rows. */
  readonly note?: Child;
}

interface ListOf<Row> {
  readonly title: string;
  readonly signal: AbortSignal;
  readonly filters: readonly Filter[];
  /** The columns, or those of the rows that the filters ask for. */
  readonly columns: readonly Column<Row>[] | ((filters: Filters) => readonly Column<Row>[]);
  /** Loads a page of rows. A filter `account` is the id by then, though the reader may have typed an address. */
  load(filters: Filters, limit: number, next: Filters): Promise<Found<Row>>;
  /** The command that prints the same. */
  command(filters: Filters): string;
  /** The name of the CSV file, without its end. */
  readonly file: string;
  readonly none: string;
}

/**
 * A list with filters, which the address has too, so that it can be sent, kept and reloaded; with its rows as a CSV file,
 * and the command that prints them.
 */
export function list<Row extends object>(
  of: ListOf<Row>,
): {
  readonly element: HTMLElement;
  /** Reads the rows again. */
  reload(): Promise<void>;
  /** Reads the first rows again, or returns false: more than those are shown, or a form is open. Rejects if that fails. */
  refresh(): Promise<boolean>;
  /** When the rows were read; undefined if they could not be. */
  readAt(): number | undefined;
} {
  const { signal, columns, title } = of;
  let shown: Row[] = [];
  let latest = 0;
  let readAt: number | undefined;
  const place = el("div", {}, waiting());
  const command = el("div", {});
  const bar = filterBar(of.filters, () => void reload());
  const more = el("button", { type: "button", class: "small" }, t("more"));
  let next: Filters | undefined;
  const problem = el("div", { role: "alert" });

  const draw = (note: Child) => {
    const shownColumns = typeof columns === "function" ? columns(bar.value()) : columns;
    fill(
      place,
      note,
      shown.length > 0
        ? table(
            title,
            shownColumns,
            shown.map((row) => lineOf(shownColumns, row)),
          )
        : el("p", { class: "empty" }, of.none),
    );
    more.hidden = next === undefined;
    fill(command, commandLine(of.command(bar.value())));
  };

  async function reload(): Promise<void> {
    latest += 1;
    const request = latest;
    place.setAttribute("aria-busy", "true");
    try {
      const found: Found<Row> = await pageOf(of, bar.value(), SHOWN, {});
      if (signal.aborted || request !== latest) return;
      readAt = Date.now();
      shown = [...found.rows];
      next = found.next;
      fill(problem);
      draw(found.note);
      announce(t("list.count", { count: shown.length }));
    } catch (error) {
      if (signal.aborted || request !== latest) return;
      readAt = undefined;
      more.hidden = true;
      fill(
        place,
        failed(error, () => void reload()),
      );
    } finally {
      if (request === latest) place.removeAttribute("aria-busy");
    }
  }

  const loadMore = async () => {
    const request = latest;
    const found: Found<Row> = await pageOf(of, bar.value(), SHOWN, next ?? {});
    if (signal.aborted || request !== latest) return;
    shown.push(...found.rows);
    next = found.next;
    draw(found.note);
  };
  more.addEventListener("click", () => void busy(more, problem, loadMore));
  const file = el("button", { type: "button", class: "small" }, icon("download"), t("list.csv"));
  const download = async () => {
    const { rows, isCut } = await allRows(of, bar.value());
    if (signal.aborted) return;
    downloadCsv(of.file, rows);
    if (isCut) fill(problem, notice("info", t("list.csv.cut", { count: number(rows.length) })));
  };
  file.addEventListener("click", () => void busy(file, problem, download));
  void reload();
  return {
    element: el(
      "div",
      { class: "grid" },
      of.filters.length > 0 && bar.element,
      card(title, place, problem, el("div", { class: "row spread" }, more, file), command),
    ),
    reload,
    readAt: () => readAt,
    async refresh() {
      const request = latest;
      // A form stays as it is until it is closed.
      if (shown.length > SHOWN || document.querySelector("dialog[open]")) return false;
      const found: Found<Row> = await pageOf(of, bar.value(), SHOWN, {});
      const isSame = JSON.stringify(found.rows) === JSON.stringify(shown);
      // More rows go on from the last one that is shown.
      const isLonger = shown.length > SHOWN || more.hasAttribute("aria-busy");
      if (!isSame && (isLonger || signal.aborted || request !== latest)) return false;
      readAt = Date.now();
      if (isSame) return true;
      shown = [...found.rows];
      next = found.next;
      draw(found.note);
      return true;
    },
  };
}

/** Returns the rows that the filters find, page by page, at most `PAGES_MAX` pages. */
async function allRows<Row>(of: ListOf<Row>, filters: Filters) {
  const rows: Row[] = [];
  let next: Filters | undefined = {};
  let isCut = false;
  for (let pages = 0; next && pages < PAGES_MAX && !of.signal.aborted; pages += 1) {
    const found: Found<Row> = await pageOf(of, filters, PAGE_MAX, next);
    rows.push(...found.rows);
    next = found.next;
    isCut = found.isCut === true;
  }
  return { rows, isCut: isCut || next !== undefined };
}

/** Loads a page of rows, with the id of the account that the filters name. */
async function pageOf<Row>(
  of: ListOf<Row>,
  filters: Filters,
  limit: number,
  next: Filters,
): Promise<Found<Row>> {
  const { account } = filters;
  if (account === undefined) return of.load(filters, limit, next);
  const id = await findAccount(account);
  if (id === undefined) return { rows: [], note: notice("info", t("account.unknown")) };
  return of.load({ ...filters, account: id }, limit, next);
}

/** Rows that the API has limited: if they are so many, the next page begins before the last one. */
export function limited<Row>(
  rows: readonly Row[],
  limit: number,
  idOf: (row: Row) => string,
): Found<Row> {
  const last = rows.at(-1);
  return { rows, next: last && rows.length === limit ? { before: idOf(last) } : undefined };
}

function filterBar(filters: readonly Filter[], changed: () => void) {
  const asked = new URLSearchParams(location.search);
  const inputs = filters.map(({ name, label, options, type = "text", standard = "" }) => {
    const given = asked.get(name) ?? standard;
    if (options) {
      // An address may name what the list does not have.
      const isKnown = given === "" || options.some(([value]) => value === given);
      const all = isKnown ? options : [...options, [given, given] as const];
      const { element, select } = choice(label, all, given);
      return { name, standard, element, value: () => select.value };
    }
    const kind = type === "date" && given.includes("T") ? "datetime-local" : type;
    const { element, input } = field(label, { type: kind, value: given, maxlength: 254 });
    const value = () => withoutSecret(input.value.trim());
    input.addEventListener("change", () => {
      if (input.value !== value()) input.value = value();
    });
    return { name, standard, element, value };
  });
  const value = () => Object.fromEntries(inputs.map(({ name, value }) => [name, value()]));
  const update = () => {
    const own = inputs.map(
      ({ name, standard, value }) => [name, value() === standard ? undefined : value()] as const,
    );
    setQuery(Object.fromEntries(own));
    changed();
  };
  const element = el(
    "form",
    { class: "card filters", "aria-label": t("filters"), role: "search" },
    inputs.map((input) => input.element),
  );
  whenChosen(element, update);
  // Enter has changed the field already.
  element.addEventListener("submit", (event) => event.preventDefault());
  return { element, value };
}
