import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, notice } from "../../../page-parts/browser/form.ts";
import {
  dateTime,
  dayBefore,
  dayLong,
  exactVnd,
  monthName,
  number,
  vnd,
} from "../../../page-parts/browser/format.ts";
import { card, failed, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { currentLanguage } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { Statement, StatementRow } from "../contract.ts";
import { fileLink } from "../file-link.ts";
import { CELLS, movedAmount, whatMoved } from "../movements.ts";
import { hasPlugin } from "../plugins.ts";
import { promotionCard, readPromotions } from "../promotions.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { t } from "../text.ts";

/** On a phone the others need a button. */
const SHOWN_ROWS = 14;

/** All money of a month: every movement, the charges of each day, and the balance after each. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const months = monthsSince(currentAccount()?.created_at);
  const asked = new URLSearchParams(location.search).get("month") ?? "";
  const month = choice(
    t("money.month"),
    months.map((one) => [one, monthName(one)] as const),
    months.includes(asked) ? asked : months[0],
  );
  const file = fileLink(t("csv.export"));
  const print = el("button", { type: "button", onclick: () => window.print() }, t("money.print"));
  const closed = el("a", { class: "button", href: `${BASE}/statements` }, t("statements.title"));
  const place = el("div", { class: "grid" }, waiting());
  let latestRequest = 0;

  async function load(): Promise<void> {
    latestRequest += 1;
    const request = latestRequest;
    const wanted = month.select.value;
    const decimal = currentLanguage() === "vi" ? "comma" : "point";
    file.lead("/money.csv", { month: wanted, decimal });
    try {
      const statement = await get<Statement>("/money", { month: wanted });
      if (signal.aborted || request !== latestRequest) return;
      fill(place, figures(statement), list(statement, wanted));
    } catch (error) {
      if (!signal.aborted && request === latestRequest) {
        fill(
          place,
          failed(error, () => void load()),
        );
      }
    }
  }
  month.select.addEventListener("change", () => {
    history.replaceState(null, "", `?month=${month.select.value}`);
    void load();
  });
  fill(
    root,
    pageHead(
      t("nav.money"),
      t("money.lead"),
      hasPlugin("statements") && closed,
      file.element,
      print,
    ),
    el("p", { class: "print-only" }, currentAccount()?.email ?? ""),
    el("form", { class: "card filters", "aria-label": t("usage.filters") }, month.element),
    place,
  );
  const promotions = readPromotions();
  await load();
  const offered = await promotions;
  const discounts = offered && promotionCard(offered);
  if (discounts && !signal.aborted) root.append(discounts);
}

function figures({ opening_vnd, closing_vnd, rows }: Statement): HTMLElement {
  const sum = (isWanted: (row: StatementRow) => boolean) =>
    sumOf(rows.filter(isWanted).map((row) => row.amount_vnd));
  const shown = [
    [t("money.opening"), opening_vnd],
    [t("money.in"), sum(({ kind }) => kind !== "charges")],
    [t("money.charges"), sum(({ kind }) => kind === "charges")],
    [t("money.closing"), closing_vnd],
  ] as const;
  return el(
    "section",
    { class: "card totals" },
    shown.map(([name, value]) =>
      el(
        "div",
        {},
        el("span", { class: "hint" }, name),
        el("strong", { title: exactVnd(value) }, vnd(value)),
      ),
    ),
  );
}

/** The rows, newest first, between the closing and the opening balance. */
function list({ opening_vnd, closing_vnd, rows, cut }: Statement, month: string): HTMLElement {
  const columns = [t("money.date"), t("money.what"), t("money.amount"), t("money.balance")];
  const isLong = rows.length > SHOWN_ROWS;
  const edge = (name: string, amount: string, isLater = false) =>
    el(
      "tr",
      { class: isLater ? "edge later" : "edge" },
      el("th", { scope: "row", colspan: 3 }, name),
      el("td", { class: "number" }, exactVnd(amount)),
    );
  const all = card(
    monthName(month),
    cut && notice("info", t("money.cut")),
    el(
      "table",
      { class: "data money" },
      el("caption", { class: "hidden" }, monthName(month)),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((name, at) => el("th", { scope: "col", class: at > 1 && "number" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        edge(t("money.closing"), closing_vnd),
        [...rows].reverse().map((row, place) => {
          const cells = [
            row.at === null ? dayLong(row.day) : dateTime(row.at),
            el("span", {}, whatMoved(row, callsOf(row))),
            movedAmount(row.amount_vnd),
            exactVnd(row.balance_vnd),
          ];
          return el(
            "tr",
            { class: place >= SHOWN_ROWS && "later" },
            cells.map((cell, at) => el("td", { class: CELLS[at] }, cell)),
          );
        }),
        edge(t("money.opening"), opening_vnd, isLong),
      ),
    ),
    rows.length === 0 && el("p", { class: "empty" }, t("money.none")),
    isLong &&
      el(
        "button",
        { type: "button", class: "show-later", onclick: () => all.classList.add("whole") },
        t("more"),
      ),
    el("p", { class: "hint" }, t("money.days")),
  );
  return all;
}

/** Adds up decimal strings of đ, exact to the millionth. */
function sumOf(amounts: readonly string[]): string {
  const micro = amounts.reduce((sum, amount) => sum + Math.round(Number(amount) * 1e6), 0);
  return String(micro / 1e6);
}

function callsOf({ calls, day }: StatementRow): HTMLElement {
  return el(
    "a",
    { href: `${BASE}/usage?from=${day}&to=${day}` },
    t("calls.count", { count: number(calls) }),
  );
}

/** Returns the months from this one back to the first, as `2026-11`. */
function monthsSince(created: string | undefined): string[] {
  const months = [dayBefore(0).slice(0, 7)];
  const first = dayBefore(0, Date.parse(created ?? new Date().toISOString())).slice(0, 7);
  for (let last = months[0] ?? ""; last > first; last = months.at(-1) ?? "") {
    const before = new Date(`${last}-01T00:00:00Z`);
    before.setUTCMonth(before.getUTCMonth() - 1);
    months.push(before.toISOString().slice(0, 7));
  }
  return months;
}
