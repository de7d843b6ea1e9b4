import { badge } from "../../../page-parts/browser/badge.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { dateTime, vnd } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { statementPart } from "../bank-statement.ts";
import { BASE } from "../base.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { Suggestion, Transfer, WholeTransfer } from "../contract.ts";
import { customerLink } from "../customer-link.ts";
import { limited, list } from "../list.ts";
import { keepFresh } from "../live.ts";
import { movementList } from "../movements.ts";
import { section, smallButton } from "../section.ts";
import { get, hasCommand, may } from "../session.ts";
import { t } from "../text.ts";
import { alikeNotice, openAssign, transferButtons } from "../transfer-changes.ts";
import { showBatch, voucherList } from "../vouchers.ts";

const STATES = ["unmatched", "credited", "matched", "ignored", "returned"] as const;

/** Bank transfers, first those that wait for an owner; or one transfer. */
export async function render({ root, rest, signal }: PageContext): Promise<void> {
  if (await showBatch(root, rest, signal)) return;
  if (rest === "statement") {
    fill(root, pageHead(t("nav.money"), t("money.lead"), parts(rest)), statementPart());
    return;
  }
  if (rest === "movements") {
    fill(root, pageHead(t("nav.money"), t("movements.lead"), parts(rest)), movementList(signal));
    return;
  }
  if (rest !== "") return one(root, decodeURIComponent(rest), signal);
  const again = (): Promise<void> => transfers.reload();
  const transfers = list<Transfer>({
    title: t("money.transfers"),
    signal,
    filters: [
      {
        name: "state",
        label: t("customers.state"),
        options: [
          ["", t("all")],
          ...STATES.map((state) => [state, t(`transfer.${state}`)] as const),
        ],
      },
      { name: "query", label: t("money.query"), type: "search" },
      { name: "account", label: t("calls.account") },
    ],
    columns: [
      {
        title: t("money.received"),
        cell: ({ id, received_at }) =>
          el("a", { href: `${BASE}/money/${encodeURIComponent(id)}` }, dateTime(received_at)),
      },
      {
        title: t("amount"),
        isNumber: true,
        cell: ({ amount_vnd }) => (amount_vnd === null ? "–" : vnd(amount_vnd)),
      },
      { title: t("money.content"), cell: ({ content }) => content ?? "" },
      { title: t("money.order"), cell: ({ order }) => order ?? "" },
      {
        title: t("money.owner"),
        cell: ({ account }) => account !== null && customerLink(account, t("show")),
      },
      { title: t("customers.state"), cell: stateBadge },
      { title: t("actions"), cell: (transfer) => transferButtons(transfer, again) },
    ],
    async load(filters, limit, next) {
      const rows = await get<Transfer[]>("/transfers", { ...filters, limit, ...next });
      return limited(rows, limit, ({ sequence }) => String(sequence));
    },
    command: (filters) => commandText("transfer list", filters),
    file: "transfers",
    none: t("money.none"),
  });
  const vouchers = hasCommand("voucher list") && voucherList(signal);
  fill(root, pageHead(t("nav.money"), t("money.lead"), parts("")), transfers.element, vouchers);
  keepFresh(transfers, signal);
}

async function one(root: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  const place = el("div", { class: "grid" });
  const load = () =>
    loadInto(place, signal, async (isWanted) => {
      const transfer = await get<WholeTransfer>(`/transfers/${encodeURIComponent(id)}`);
      const isOpen = transfer.state === "unmatched" || transfer.state === "ignored";
      const suggested = isOpen
        ? await get<Suggestion[]>(`/transfers/${encodeURIComponent(id)}/suggestions`)
        : [];
      if (isWanted()) {
        const buttons = transferButtons(transfer, load);
        fill(root, pageHead(t("money.transfer"), el("code", {}, id), buttons), place);
      }
      return [
        isOpen && alikeNotice(transfer),
        isOpen && suggestions(transfer, suggested, load),
        card(t("money.transfer"), shown(transfer)),
        transfer.payload !== null && card(t("money.payload"), el("pre", {}, transfer.payload)),
        commandLine(commandText("transfer show", { transfer: id })),
      ];
    });
  fill(root, pageHead(t("money.transfer"), el("code", {}, id)), place);
  await load();
}

/** The parts of the page: transfers, the movements of all customers, and the bank's statement. */
function parts(current: string): HTMLElement[] {
  const all = [
    ["", t("money.transfers")],
    ...(hasCommand("movement list") ? [["/movements", t("money.movements")] as const] : []),
    ["/statement", t("bankfile")],
  ] as const;
  return all.map(([part, title]) =>
    el(
      "a",
      {
        class: "button",
        href: `${BASE}/money${part}`,
        "aria-current": part.slice(1) === current ? "page" : undefined,
      },
      title,
    ),
  );
}

/** Who may have sent it, each with the reasons why and a button that fills the form. */
function suggestions(
  transfer: Transfer,
  rows: readonly Suggestion[],
  done: () => Promise<void>,
): HTMLElement {
  return section({
    title: t("suggest"),
    rows,
    columns: [
      {
        title: t("money.owner"),
        cell: ({ account, email }) => customerLink(account, email),
      },
      {
        title: t("money.order"),
        cell: ({ order, amount_vnd }) =>
          order === null ? "–" : [el("code", {}, order), ` ${vnd(amount_vnd ?? 0)}`],
      },
      {
        title: t("customers.state"),
        cell: ({ status }) => status !== null && t(`order.${status}`),
      },
      {
        title: t("reason"),
        cell: ({ why }) => why.map((one) => t(`suggest.${one}`)).join(", "),
      },
      {
        title: t("actions"),
        cell: ({ order, email, account, status }) => {
          // Seldom is an order paid twice: to credit one again takes more than a click.
          if (!may("money") || status === "paid" || status === "overpaid") return false;
          const to = order ?? email ?? account;
          return smallButton(t("transfer.assign"), to, () => openAssign(transfer, done, to));
        },
      },
    ],
    none: t("suggest.none"),
    file: "suggestions",
    command: commandText("transfer suggest", { transfer: transfer.id }),
  });
}

function shown(transfer: WholeTransfer): HTMLElement {
  const { account, amount_vnd, cause, decision } = transfer;
  return pairs([
    [t("customers.state"), [stateBadge(transfer), " ", cause]],
    [t("amount"), amount_vnd === null ? "–" : vnd(amount_vnd)],
    [t("money.owner"), account === null ? "–" : customerLink(account)],
    [t("money.order"), transfer.order ?? "–"],
    [t("money.content"), transfer.content ?? "–"],
    [t("money.bank"), [transfer.bank ?? "–", " ", transfer.bank_reference ?? ""]],
    [t("money.banktime"), transfer.bank_time ?? "–"],
    [t("money.received"), dateTime(transfer.received_at)],
    ...(decision === null ? [] : [[t("reason"), decision] as const]),
  ]);
}

function stateBadge({ state }: Transfer): HTMLElement {
  const kind = state === "credited" ? "good" : state === "unmatched" ? "bad" : "info";
  return badge(kind, t(`transfer.${state}`));
}
