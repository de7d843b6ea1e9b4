import { type Child, el } from "../../page-parts/browser/dom.ts";
import { dateTime, dayBefore, exactVnd, vnd } from "../../page-parts/browser/format.ts";
import type { Figure } from "../../page-parts/browser/table.ts";
import { BASE } from "./base.ts";
import { commandText } from "./command-line.ts";
import type { ListedMovement, MoneyReport, Movement } from "./contract.ts";
import { customerLink } from "./customer-link.ts";
import { limited, list } from "./list.ts";
import { get } from "./session.ts";
import { t } from "./text.ts";

const KINDS = [
  "transfer",
  "credit",
  "bonus",
  "voucher",
  "taken_back",
  "refund",
  "adjustment",
] as const;

/** Returns the address of the movements of one kind, from one day to another. */
function movementsOf(kind: (typeof KINDS)[number], from: string, to: string): string {
  return `${BASE}/money/movements?${new URLSearchParams({ kind, from, to })}`;
}

/** The fields of a report, and the texts, by kind. */
const SUMS = {
  transfer: "transfers",
  credit: "credits",
  bonus: "bonuses",
  voucher: "vouchers",
  refund: "refunds",
} as const;

/** The figure of the money that moved in the period of a report, which leads to its movements. */
export function movedFigure(
  kind: keyof typeof SUMS,
  money: MoneyReport,
  from: string,
  to: string,
): Figure {
  const sum = SUMS[kind];
  const value = vnd(money[`${sum}_vnd`]);
  return { name: t(`money.${sum}`), value, href: movementsOf(kind, from, to) };
}

/** The figure of what customers have left, which leads to those who have something. */
export function owedFigure({ owed_vnd }: MoneyReport): Figure {
  return {
    name: t("money.owed"),
    value: vnd(owed_vnd),
    title: exactVnd(owed_vnd),
    href: `${BASE}/customers?having=balance`,
  };
}

/** The movements of all customers' money, by kind and day: the rows that the figures of money add up. */
export function movementList(signal: AbortSignal): HTMLElement {
  const { element } = list<ListedMovement>({
    title: t("money.movements"),
    signal,
    filters: [
      {
        name: "kind",
        label: t("movement.what"),
        options: [["", t("all")], ...KINDS.map((kind) => [kind, t(`movement.${kind}`)] as const)],
      },
      {
        ...{ name: "from", label: t("from"), type: "date" },
        standard: `${dayBefore(0).slice(0, 7)}-01`,
      },
      { name: "to", label: t("to"), type: "date", standard: dayBefore(0) },
    ],
    columns: [
      { title: t("time"), cell: ({ at }) => dateTime(at) },
      {
        title: t("money.owner"),
        cell: ({ account_id, email }) => customerLink(account_id, email),
      },
      {
        title: t("movement.what"),
        cell: ({ kind, reason }) => [
          t(`movement.${kind}`),
          " ",
          el("small", { class: "hint" }, reason ?? ""),
        ],
      },
      { title: t("movement.reference"), cell: movementCause },
      { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => exactVnd(amount_vnd) },
      {
        title: t("movement.after"),
        isNumber: true,
        cell: ({ balance_vnd }) => exactVnd(balance_vnd),
      },
    ],
    async load(filters, limit, next) {
      const rows = await get<ListedMovement[]>("/movements", { ...filters, limit, ...next });
      return limited(rows, limit, ({ entry }) => entry);
    },
    command: (filters) => commandText("movement list", filters),
    file: "movements",
    none: t("account.movements.none"),
  });
  return element;
}

/** The reference of a movement; that of a transfer or a refund leads to it. A transfer that was given again has a number more. */
export function movementCause({ reference }: Pick<Movement, "reference">): Child {
  const [, transfer, call] =
    /^(?:transfer:((?:statement:\w+:|unreadable:)?[\w.-]+)(?::\d+)?|refund:\d+:([\da-f-]{36}))$/.exec(
      reference ?? "",
    ) ?? [];
  if (transfer === undefined && call === undefined) return reference ?? "";
  const path = transfer === undefined ? `calls/${call}` : `money/${encodeURIComponent(transfer)}`;
  return el("a", { href: `${BASE}/${path}` }, reference);
}
