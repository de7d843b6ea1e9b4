import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dateTime } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { Action } from "../contract.ts";
import { findAccount } from "../find-account.ts";
import { list } from "../list.ts";
import { get } from "../session.ts";
import { t } from "../text.ts";

/** The changes of operators, newest first, with their reasons. */
export function render({ root, signal }: PageContext): void {
  const { element } = list<Action>({
    title: t("nav.audit"),
    signal,
    filters: [
      { name: "operator", label: t("audit.operator") },
      { name: "account", label: t("calls.account") },
    ],
    columns: [
      { title: t("calls.time"), cell: ({ at }) => dateTime(at) },
      { title: t("audit.what"), cell: ({ sentence }) => sentence },
      {
        title: t("money.owner"),
        cell: ({ account_id }) =>
          account_id !== null && el("a", { href: `${BASE}/customers/${account_id}` }, t("show")),
      },
      { title: t("reason"), cell: ({ reason }) => (reason === null ? "" : String(reason)) },
      {
        title: t("audit.who"),
        cell: ({ operator, remote_address }) => [el("code", {}, operator), " ", remote_address],
      },
      {
        title: t("calls.status"),
        cell: ({ status }) =>
          el(
            "span",
            { class: `badge ${status === null ? "info" : status < 300 ? "good" : "bad"}` },
            status ?? t("unknown"),
          ),
      },
    ],
    async load({ account = "", ...filters }, limit, next) {
      const id = await findAccount(account);
      if (id === undefined) return { rows: [], note: notice("info", t("calls.noaccount")) };
      const rows = await get<Action[]>("/actions", {
        ...{ ...filters, account: id, limit, ...next },
        language: document.documentElement.lang,
      });
      const last = rows.at(-1);
      return { rows, next: last && rows.length === limit ? { before: last.id } : undefined };
    },
    command: (filters) => commandText("actions", filters),
    file: "actions",
    none: t("audit.none"),
  });
  fill(root, pageHead(t("nav.audit"), t("audit.lead")), element);
}
