import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import {
  dateTime,
  dayBefore,
  dayLong,
  monthName,
  number,
} from "../../../page-parts/browser/format.ts";
import { loadInto, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { decimalMark } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { Statement, StatementRow } from "../contract.ts";
import { fileLink } from "../file-link.ts";
import { moneyFigures, moneyTable, monthChoice, whatMoved } from "../money-table.ts";
import { hasPlugin } from "../plugins.ts";
import { promotionCard, readPromotions } from "../promotions.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { t } from "../text.ts";

/** All money of a month: every movement, the charges of each day, and the balance after each. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const months = monthsSince(currentAccount()?.created_at);
  const month = monthChoice(months, () => void load());
  const file = fileLink(t("csv.export"));
  const print = el("button", { type: "button", onclick: () => window.print() }, t("money.print"));
  const closed = el("a", { class: "button", href: `${BASE}/statements` }, t("statements.title"));
  const place = el("div", { class: "grid" }, waiting());

  function load(): Promise<void> {
    const wanted = month.value();
    file.lead("/money.csv", { month: wanted, decimal: decimalMark() });
    const content = async () => {
      const statement = await get<Statement>("/money", { month: wanted });
      return [sums(statement), list(statement, wanted)];
    };
    return loadInto(place, signal, content, true);
  }
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
    month.element,
    place,
  );
  const promotions = readPromotions();
  await load();
  const offered = await promotions;
  const discounts = offered && promotionCard(offered);
  if (discounts && !signal.aborted) root.append(discounts);
}

function sums({ opening_vnd, closing_vnd, rows }: Statement): HTMLElement {
  const sum = (isWanted: (row: StatementRow) => boolean) =>
    sumOf(rows.filter(isWanted).map((row) => row.amount_vnd));
  return moneyFigures([
    [t("money.opening"), opening_vnd],
    [t("money.in"), sum(({ kind }) => kind !== "charges")],
    [t("money.charges"), sum(({ kind }) => kind === "charges")],
    [t("money.closing"), closing_vnd],
  ]);
}

/** The rows, newest first, between the closing and the opening balance. */
function list({ opening_vnd, closing_vnd, rows, cut }: Statement, month: string): HTMLElement {
  return moneyTable({
    title: monthName(month),
    month,
    above: cut && notice("info", t("money.cut")),
    first: [t("money.closing"), closing_vnd],
    rows: [...rows]
      .reverse()
      .map((row) => [
        row.at === null ? dayLong(row.day) : dateTime(row.at),
        whatMoved(row, callsOf(row)),
        row.amount_vnd,
        row.balance_vnd,
      ]),
    last: [t("money.opening"), opening_vnd],
    below: [
      rows.length === 0 && el("p", { class: "empty" }, t("money.none")),
      el("p", { class: "hint" }, t("money.days")),
    ],
  });
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
