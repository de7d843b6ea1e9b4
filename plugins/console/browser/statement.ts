import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { notice } from "../../page-parts/browser/form.ts";
import {
  dateTime,
  dayLong,
  exactVnd,
  monthName,
  number,
  vnd,
} from "../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../page-parts/browser/page-head.ts";
import { figures, pairs } from "../../page-parts/browser/table.ts";
import { textIfAny } from "../../page-parts/browser/text.ts";
import { commandText } from "./command-line.ts";
import type { Party, Statement } from "./contract.ts";
import { monthOf } from "./customer.ts";
import { customerLink } from "./customer-link.ts";
import { section } from "./section.ts";
import { get } from "./session.ts";
import { t } from "./text.ts";

/** The closed statement of a customer's month, with the data of its VAT invoice. */
export async function showStatement(
  root: HTMLElement,
  account: string,
  month: string,
  signal: AbortSignal,
): Promise<void> {
  const place = el("div", { class: "grid" });
  const owner = customerLink(account);
  fill(root, pageHead(`${t("statement.title")}: ${monthName(month)}`, owner), place);
  await loadInto(place, signal, async () => {
    const path = `/accounts/${encodeURIComponent(account)}/statement`;
    return parts(await get<Statement>(path, { month }));
  });
}

function parts(statement: Statement): Child[] {
  const { account_id, month, number: place, rows, invoice, digest, closed_at } = statement;
  const { seller, buyer, total_vnd, vat_percent, net_vnd, vat_vnd } = invoice;
  const href = monthOf(account_id, month);
  const sums = Object.entries(statement.totals).filter(([, amount]) => amount !== "0");
  return [
    card(
      t("invoice"),
      (seller === null || buyer === null) && notice("info", t("invoice.missing")),
      pairs([
        [t("invoice.seller"), partyText(seller)],
        [t("invoice.buyer"), partyText(buyer)],
        [t("invoice.net"), net_vnd === null ? t("unknown") : vnd(net_vnd)],
        [
          vat_percent === null ? t("invoice.vat") : `${t("invoice.vat")} ${number(vat_percent)}%`,
          vat_vnd === null ? t("unknown") : vnd(vat_vnd),
        ],
        [t("invoice.total"), el("strong", {}, vnd(total_vnd))],
      ]),
    ),
    card(
      t("statement.title"),
      figures([
        { name: t("money.opening"), ...figure(statement.opening_vnd), href },
        ...sums.map(([name, amount]) => ({ name: kindText(name), ...figure(amount), href })),
        { name: t("money.closing"), ...figure(statement.closing_vnd), href },
      ]),
      el("p", { class: "hint" }, t("statement.closed", { place, at: dateTime(closed_at) })),
      el("p", {}, el("code", {}, digest)),
    ),
    section({
      title: t("statement.rows"),
      rows,
      columns: [
        { title: t("day"), cell: ({ day }) => dayLong(day) },
        {
          title: t("movement.what"),
          cell: ({ kind, model, note }) =>
            [kindText(kind), model, note]
              .filter((text) => text !== null && text !== "")
              .join(" · "),
        },
        {
          title: t("report.calls"),
          isNumber: true,
          cell: ({ calls }) => (calls === null ? "" : number(calls)),
        },
        { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => exactVnd(amount_vnd) },
        {
          title: t("movement.after"),
          isNumber: true,
          cell: ({ balance_vnd }) => exactVnd(balance_vnd),
        },
      ],
      none: t("account.movements.none"),
      file: `statement-${month}`,
      command: commandText("statement", { account: account_id, month }),
    }),
  ];
}

function figure(amount: string) {
  return { value: vnd(amount), title: exactVnd(amount) };
}

function partyText(party: Party | null): string {
  return party === null ? "–" : [party.name, party.tax_code, party.address].join(", ");
}

/** The text of a kind of rows, or of their sum: of `refund`, or `refunds_vnd`. */
function kindText(name: string): string {
  const kind = name.replace(/_vnd$/, "");
  if (kind === "charges") return t("calls.charged");
  const one = kind.replace(/(?:es|s)$/, "");
  return textIfAny(`movement.${kind}`) ?? textIfAny(`movement.${one}`) ?? kind;
}
