import { el } from "../../../page-parts/browser/dom.ts";
import { busy } from "../../../page-parts/browser/form.ts";
import { dateTime, vnd } from "../../../page-parts/browser/format.ts";
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
  const columns = [
    t("topup.created"),
    t("topup.code"),
    t("topup.asked"),
    t("topup.received"),
    t("topup.status"),
  ];
  const rows = el("tbody", {}, first.data.map(row));
  let { next } = first;
  const more = el("button", { type: "button" }, t("more"));
  more.hidden = next === null;
  const problem = el("div", { role: "alert" });
  const loadMore = async () => {
    if (next === null) return;
    const page = await get<Page<TopUp>>("/top-ups", { limit: PAGE, before: next });
    if (signal.aborted) return;
    next = page.next;
    rows.append(...page.data.map(row));
    more.hidden = next === null;
  };
  more.addEventListener("click", () => void busy(more, problem, loadMore));
  return el(
    "div",
    { class: "stack" },
    el(
      "table",
      { class: "data blocks" },
      el("caption", { class: "hidden" }, t("topup.history")),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((name, at) => el("th", { scope: "col", class: isNumber(at) }, name)),
        ),
      ),
      rows,
    ),
    problem,
    more,
  );

  function row(order: TopUp): HTMLElement {
    const cells = [
      dateTime(order.created_at),
      el("a", { href: `${BASE}/top-up/${order.id}` }, order.code),
      vnd(order.amount_vnd),
      [
        Number(order.received_vnd) > 0 ? vnd(order.received_vnd) : "–",
        Number(order.bonus_vnd) > 0 &&
          el(
            "small",
            { class: "hint" },
            ` ${t("topup.bonus.short", { bonus: vnd(order.bonus_vnd) })}`,
          ),
      ],
      orderBadge(order),
    ];
    return el(
      "tr",
      {},
      cells.map((cell, at) => el("td", { "data-label": columns[at], class: isNumber(at) }, cell)),
    );
  }
}

function isNumber(column: number): string | undefined {
  return column === 2 || column === 3 ? "number" : undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  open: "info",
  paid: "good",
  overpaid: "good",
  underpaid: "info",
};

export function orderBadge({ status }: TopUp): HTMLElement {
  return el(
    "span",
    { class: `badge ${KINDS[status] ?? ""}` },
    textIfAny(`topup.status.${status}`) ?? status,
  );
}
