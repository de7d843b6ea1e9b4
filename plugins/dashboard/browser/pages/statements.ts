import { toast } from "../../../page-parts/browser/announce.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, field, form, notice } from "../../../page-parts/browser/form.ts";
import {
  date,
  dayLong,
  exactVnd,
  monthName,
  number,
  vnd,
} from "../../../page-parts/browser/format.ts";
import { card, failed, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { currentLanguage } from "../../../page-parts/browser/text.ts";
import { get, post } from "../api.ts";
import type { ClosedRow, InvoiceParty, Statements, WholeStatement } from "../contract.ts";
import { fileLink } from "../file-link.ts";
import { CELLS, movedAmount, whatMoved } from "../movements.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { t } from "../text.ts";

/** On a phone the others need a button. */
const SHOWN_ROWS = 14;

/** The closed statements, one at a time, as a customer prints them; and what the customer sets for them. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const found = await get<Statements>("/statements");
  if (signal.aborted) return;
  const [newest] = found.data;
  const back = el("a", { class: "button", href: `${BASE}/money` }, t("nav.money"));
  if (!newest) {
    fill(
      root,
      pageHead(t("statements.title"), t("statements.lead"), back),
      el("p", { class: "card empty" }, t("statements.none")),
      settings(found),
    );
    return;
  }
  const months = found.data.map(({ month }) => month);
  const asked = new URLSearchParams(location.search).get("month") ?? "";
  const month = choice(
    t("money.month"),
    months.map((one) => [one, monthName(one)] as const),
    months.includes(asked) ? asked : newest.month,
  );
  const csv = fileLink("CSV");
  const json = fileLink("JSON");
  const print = el("button", { type: "button", onclick: () => window.print() }, t("money.print"));
  const place = el("div", { class: "grid" }, waiting());
  let latestRequest = 0;

  async function load(): Promise<void> {
    latestRequest += 1;
    const request = latestRequest;
    const wanted = month.select.value;
    const decimal = currentLanguage() === "vi" ? "comma" : "point";
    csv.lead(`/statements/${wanted}.csv`, { decimal });
    json.lead(`/statements/${wanted}.json`, {});
    try {
      const statement = await get<WholeStatement>(`/statements/${wanted}`);
      if (signal.aborted || request !== latestRequest) return;
      fill(place, parties(statement), figures(statement), list(statement), proof(statement));
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
    pageHead(t("statements.title"), t("statements.lead"), back, csv.element, json.element, print),
    el("form", { class: "card filters", "aria-label": t("usage.filters") }, month.element),
    place,
    settings(found, load),
  );
  await load();
}

/** The number and the month, and on paper the parties: what an accountant looks for first. */
function parties({ number: place, month, closed_at, invoice }: WholeStatement): HTMLElement {
  const { seller, buyer } = invoice;
  const party = (title: string, one: InvoiceParty) =>
    el(
      "div",
      {},
      el("span", { class: "hint" }, title),
      el("strong", {}, one.name),
      el("span", {}, `${t("statements.taxcode")}: ${one.tax_code}`),
      el("span", {}, one.address),
    );
  const email = currentAccount()?.email ?? "";
  return el(
    "section",
    { class: "card parties" },
    el("h2", {}, `${t("statements.number", { number: place })} · ${monthName(month)}`),
    el(
      "div",
      {},
      seller && party(t("statements.seller"), seller),
      buyer
        ? party(t("statements.buyer"), buyer)
        : el("div", {}, el("span", { class: "hint" }, t("statements.customer")), email),
    ),
    el("p", { class: "hint" }, t("statements.closed", { date: date(closed_at) })),
  );
}

function figures({ opening_vnd, closing_vnd, invoice }: WholeStatement): HTMLElement {
  const { total_vnd, vat_percent, net_vnd, vat_vnd } = invoice;
  const shown = [
    [t("money.opening"), opening_vnd],
    [t("statements.sold"), total_vnd],
    ...(net_vnd === null || vat_vnd === null
      ? []
      : [
          [t("statements.net"), net_vnd] as const,
          [t("statements.vat", { percent: number(vat_percent ?? 0) }), vat_vnd] as const,
        ]),
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

/** The rows, oldest first, between the opening and the closing balance. */
function list(statement: WholeStatement): HTMLElement {
  const { month, opening_vnd, closing_vnd, rows, cut, row_count } = statement;
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
    t("statements.rows"),
    cut &&
      notice("info", t("statements.cut", { shown: number(rows.length), all: number(row_count) })),
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
        edge(t("money.opening"), opening_vnd),
        rows.map((row, place) =>
          el(
            "tr",
            { class: place >= SHOWN_ROWS && "later" },
            cellsOf(row).map((cell, at) => el("td", { class: CELLS[at] }, cell)),
          ),
        ),
        edge(t("money.closing"), closing_vnd, isLong),
      ),
    ),
    isLong &&
      el(
        "button",
        { type: "button", class: "show-later", onclick: () => all.classList.add("whole") },
        t("more"),
      ),
    el("p", { class: "hint" }, t("statements.days")),
  );
  return all;
}

function cellsOf(row: ClosedRow) {
  const calls = t("calls.count", { count: number(row.calls ?? 0) });
  const model = row.model || t("statements.archived");
  const charges = [model, el("small", { class: "hint" }, ` ${calls}`)];
  const [, time = ""] = row.time_vietnam?.split(" ") ?? [];
  return [
    `${dayLong(row.day)} ${time.slice(0, 5)}`.trim(),
    el("span", {}, whatMoved({ ...row, reason: row.note }, charges)),
    movedAmount(row.amount_vnd),
    exactVnd(row.balance_vnd),
  ];
}

/** The digests, and the file that they are of. */
function proof({ digest, previous_digest, month }: WholeStatement): HTMLElement {
  const file = fileLink(t("statements.file"));
  file.lead(`/statements/${month}.csv`, { decimal: "point" });
  const pairs = [
    [t("statements.digest"), el("code", {}, digest)],
    [
      t("statements.previous"),
      previous_digest === null ? t("statements.first") : el("code", {}, previous_digest),
    ],
  ] as const;
  return card(
    t("statements.proof"),
    el("p", {}, t("statements.proof.text")),
    el(
      "dl",
      { class: "pairs" },
      pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    ),
    el("div", { class: "row" }, file.element),
  );
}

function settings(
  { buyer }: Statements,
  reload: () => Promise<void> = async () => {},
): HTMLElement {
  const text = (name: string, label: string, value: string | undefined, max: number) =>
    field(label, { name, value: value ?? "", maxlength: max, autocomplete: "off" });
  const name = text("name", t("statements.company"), buyer?.name, 200);
  const code = text("tax_code", t("statements.taxcode"), buyer?.tax_code, 14);
  const address = text("address", t("statements.address"), buyer?.address, 300);
  const save = async () => {
    const [given, taxCode, place] = [name, code, address].map(({ input }) => input.value.trim());
    const isEmpty = !given && !taxCode && !place;
    const wanted = isEmpty ? null : { name: given, tax_code: taxCode, address: place };
    await post("/statements", { buyer: wanted });
    toast(t("statements.saved"));
    await reload();
  };
  return card(
    t("statements.invoice"),
    el("p", { class: "hint" }, t("statements.invoice.hint")),
    form(
      t("statements.save"),
      save,
      el("div", { class: "grid two" }, name.element, code.element),
      address.element,
    ),
  );
}
