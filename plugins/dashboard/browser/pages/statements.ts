import { toast } from "../../../page-parts/browser/announce.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { date, dayLong, monthName, number } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { decimalMark } from "../../../page-parts/browser/text.ts";
import { get, post } from "../api.ts";
import type { ClosedRow, InvoiceParty, Statements, WholeStatement } from "../contract.ts";
import { fileLink } from "../file-link.ts";
import { moneyFigures, moneyTable, monthChoice, whatMoved } from "../money-table.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { t } from "../text.ts";

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
  const month = monthChoice(months, () => void load());
  const csv = fileLink("CSV");
  const json = fileLink("JSON");
  const print = el("button", { type: "button", onclick: () => window.print() }, t("money.print"));
  const place = el("div", { class: "grid" }, waiting());

  function load(): Promise<void> {
    const wanted = month.value();
    csv.lead(`/statements/${wanted}.csv`, { decimal: decimalMark() });
    json.lead(`/statements/${wanted}.json`, {});
    const content = async () => {
      const statement = await get<WholeStatement>(`/statements/${wanted}`);
      return [parties(statement), sums(statement), list(statement), proof(statement)];
    };
    return loadInto(place, signal, content, true);
  }
  fill(
    root,
    pageHead(t("statements.title"), t("statements.lead"), back, csv.element, json.element, print),
    month.element,
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
      seller && party(t("invoice.seller"), seller),
      buyer
        ? party(t("invoice.buyer"), buyer)
        : el("div", {}, el("span", { class: "hint" }, t("statements.customer")), email),
    ),
    el("p", { class: "hint" }, t("statements.closed", { date: date(closed_at) })),
  );
}

function sums({ opening_vnd, closing_vnd, invoice }: WholeStatement): HTMLElement {
  const { total_vnd, vat_percent, net_vnd, vat_vnd } = invoice;
  const taxes =
    net_vnd === null || vat_vnd === null
      ? []
      : [
          [t("statements.net"), net_vnd] as const,
          [t("statements.vat", { percent: number(vat_percent ?? 0) }), vat_vnd] as const,
        ];
  return moneyFigures([
    [t("money.opening"), opening_vnd],
    [t("statements.sold"), total_vnd],
    ...taxes,
    [t("money.closing"), closing_vnd],
  ]);
}

/** The rows, oldest first, between the opening and the closing balance. */
function list(statement: WholeStatement): HTMLElement {
  const { month, opening_vnd, closing_vnd, rows, cut, row_count } = statement;
  return moneyTable({
    title: t("statements.rows"),
    month,
    above:
      cut &&
      notice("info", t("statements.cut", { shown: number(rows.length), all: number(row_count) })),
    first: [t("money.opening"), opening_vnd],
    rows: rows.map((row) => [
      timeOf(row),
      whatMoved({ ...row, reason: row.note }, chargesOf(row)),
      row.amount_vnd,
      row.balance_vnd,
    ]),
    last: [t("money.closing"), closing_vnd],
    below: el("p", { class: "hint" }, t("statements.days")),
  });
}

function timeOf({ day, time_vietnam }: ClosedRow): string {
  const [, time = ""] = time_vietnam?.split(" ") ?? [];
  return `${dayLong(day)} ${time.slice(0, 5)}`.trim();
}

function chargesOf({ model, calls }: ClosedRow): Child {
  const count = t("calls.count", { count: number(calls ?? 0) });
  return [model || t("statements.archived"), el("small", { class: "hint" }, ` ${count}`)];
}

/** The digests, and the file that they are of. */
function proof({ digest, previous_digest, month }: WholeStatement): HTMLElement {
  const file = fileLink(t("statements.file"));
  file.lead(`/statements/${month}.csv`, { decimal: "point" });
  return card(
    t("statements.proof"),
    el("p", {}, t("statements.proof.text")),
    pairs([
      [t("statements.digest"), el("code", {}, digest)],
      [
        t("statements.previous"),
        previous_digest === null ? t("statements.first") : el("code", {}, previous_digest),
      ],
    ]),
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
    toast(t("saved"));
    await reload();
  };
  return card(
    t("statements.invoice"),
    el("p", { class: "hint" }, t("statements.invoice.hint")),
    form(
      t("save"),
      save,
      el("div", { class: "grid two" }, name.element, code.element),
      address.element,
    ),
  );
}
