import { type Child, el } from "../../page-parts/browser/dom.ts";
import { choice } from "../../page-parts/browser/form.ts";
import { exactVnd, monthName, vnd } from "../../page-parts/browser/format.ts";
import { card } from "../../page-parts/browser/page-head.ts";
import { type Figure, figures } from "../../page-parts/browser/table.ts";
import type { StatementRow } from "./contract.ts";
import { t } from "./text.ts";

/** The cause of a row in a list of money. */
type Moved = Pick<StatementRow, "kind" | "amount_vnd" | "reason">;

/** On a phone the others need a button. */
const SHOWN_ROWS = 14;
/** Class names for the cells of a row. The style sheet uses them when the columns do not fit the screen. */
const CELLS = ["date", "what", "number amount", "number after"] as const;

/** A balance at one end of the table. */
type Edge = readonly [name: string, amount: string];

interface MoneyTable {
  readonly title: string;
  /** The month: `2026-11`. */
  readonly month: string;
  /** Said above the rows. */
  readonly above: Child;
  /** When and what, then the amount and the balance after it. */
  readonly rows: readonly (readonly [string, Child, amount: string, balance: string])[];
  readonly first: Edge;
  readonly last: Edge;
  /** Said below the rows. */
  readonly below: Child;
}

/** The movements of a month between two balances, in a card. */
export function moneyTable({ title, month, above, rows, first, last, below }: MoneyTable) {
  const columns = [t("money.date"), t("money.what"), t("amount"), t("money.balance")];
  const isLong = rows.length > SHOWN_ROWS;
  const edge = ([name, amount]: Edge, isLater = false) =>
    el(
      "tr",
      { class: isLater ? "edge later" : "edge" },
      el("th", { scope: "row", colspan: 3 }, name),
      el("td", { class: "number" }, exactVnd(amount)),
    );
  const all = card(
    title,
    above,
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
        edge(first),
        rows.map(([when, what, amount, balance], place) => {
          const cells = [when, el("span", {}, what), movedAmount(amount), exactVnd(balance)];
          return el(
            "tr",
            { class: place >= SHOWN_ROWS && "later" },
            cells.map((cell, at) => el("td", { class: CELLS[at] }, cell)),
          );
        }),
        edge(last, isLong),
      ),
    ),
    isLong &&
      el(
        "button",
        { type: "button", class: "show-later", onclick: () => all.classList.add("whole") },
        t("more"),
      ),
    below,
  );
  return all;
}

/** Amounts side by side in a card, rounded; the exact one in the title. */
export function moneyFigures(amounts: readonly (readonly [name: string, amount: string])[]) {
  const shown = amounts.map(
    ([name, amount]): Figure => ({ name, value: vnd(amount), title: exactVnd(amount) }),
  );
  return figures(shown, "card totals");
}

/** The choice of a month, newest first, which the address has too. Calls `changed` if another one is chosen. */
export function monthChoice(
  months: readonly string[],
  changed: () => void,
): { readonly element: HTMLElement; value(): string } {
  const asked = new URLSearchParams(location.search).get("month") ?? "";
  const month = choice(
    t("money.month"),
    months.map((one) => [one, monthName(one)] as const),
    months.includes(asked) ? asked : months[0],
  );
  month.select.addEventListener("change", () => {
    history.replaceState(null, "", `?month=${month.select.value}`);
    changed();
  });
  return {
    element: el("form", { class: "card filters", "aria-label": t("filters") }, month.element),
    value: () => month.select.value,
  };
}

/** Describes a movement; `charges` stands for that of calls. */
export function whatMoved({ kind, amount_vnd, reason }: Moved, charges: Child): Child {
  const why = reason !== null && el("small", { class: "hint" }, ` ${reason}`);
  switch (kind) {
    case "transfer":
      return reason === null ? t("money.transfer.assigned") : t("money.transfer", { code: reason });
    case "credit":
      return [t("money.credit"), why];
    case "taken_back":
      return [t("money.taken_back"), why];
    case "refund":
      return [t("money.refund"), why];
    case "bonus":
    case "voucher":
    case "adjustment":
      return [t(`money.${kind}.${Number(amount_vnd) > 0 ? "in" : "out"}`), why];
    case "charges":
      return charges;
  }
}

/** An amount with its sign. */
function movedAmount(amount: string): HTMLElement {
  const isIn = Number(amount) > 0;
  return el("span", { class: isIn && "in" }, isIn ? "+" : "", exactVnd(amount));
}
