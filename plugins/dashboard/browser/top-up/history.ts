import { badge } from "../../../page-parts/browser/badge.ts";
import { el } from "../../../page-parts/browser/dom.ts";
import { busy } from "../../../page-parts/browser/form.ts";
import { dateTime, vnd } from "../../../page-parts/browser/format.ts";
import { type Column, lineOf, table } from "../../../page-parts/browser/table.ts";
import { textIfAny } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { Page, TopUp } from "../contract.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";

const PAGE = "20";

/** The customer's orders, newest first, with a button that loads more. */
export async function orderHistory(signal: AbortSignal): Promise<HTMLElement> {
  const first = await get<Page<TopUp>>("/top-ups", { limit: PAGE });
  if (first.data.length === 0) return el("p", { class: "empty" }, t("topup.none"));
  const columns = columnsOf();
  const line = (order: TopUp) => lineOf(columns, order);
  const orders = table(t("topup.history"), columns, first.data.map(line));
  let { next } = first;
  const more = el("button", { type: "button" }, t("more"));
  more.hidden = next === null;
  const problem = el("div", { role: "alert" });
  const loadMore = async () => {
    if (next === null) return;
    const page = await get<Page<TopUp>>("/top-ups", { limit: PAGE, before: next });
    if (signal.aborted) return;
    next = page.next;
    orders.tBodies[0]?.append(...page.data.map(line));
    more.hidden = next === null;
  };
  more.addEventListener("click", () => void busy(more, problem, loadMore));
  return el("div", { class: "stack" }, orders, problem, more);
}

function columnsOf(): readonly Column<TopUp>[] {
  return [
    { title: t("time"), cell: ({ created_at }) => dateTime(created_at) },
    {
      title: t("topup.code"),
      cell: ({ id, code }) => el("a", { href: `${BASE}/top-up/${id}` }, code),
    },
    { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => vnd(amount_vnd) },
    {
      title: t("topup.received"),
      isNumber: true,
      cell: ({ received_vnd, bonus_vnd }) => [
        Number(received_vnd) > 0 ? vnd(received_vnd) : "–",
        Number(bonus_vnd) > 0 &&
          el("small", { class: "hint" }, ` ${t("topup.bonus.short", { bonus: vnd(bonus_vnd) })}`),
      ],
    },
    { title: t("status"), cell: orderBadge },
  ];
}

const KINDS: Readonly<Record<string, "good" | "info">> = {
  open: "info",
  paid: "good",
  overpaid: "good",
  underpaid: "info",
};

export function orderBadge({ status }: TopUp): HTMLElement {
  return badge(KINDS[status] ?? "", textIfAny(`topup.status.${status}`) ?? status);
}
