import { badge } from "../../../page-parts/browser/badge.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { dateTime } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { commandText } from "../command-line.ts";
import type { Action } from "../contract.ts";
import { customerLink } from "../customer-link.ts";
import { limited, list } from "../list.ts";
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
      { title: t("time"), cell: ({ at }) => dateTime(at) },
      { title: t("audit.what"), cell: ({ sentence }) => sentence },
      {
        title: t("money.owner"),
        cell: ({ account_id }) => account_id !== null && customerLink(account_id, t("show")),
      },
      { title: t("reason"), cell: ({ reason }) => (reason === null ? "" : String(reason)) },
      {
        title: t("audit.who"),
        cell: ({ operator, remote_address }) => [el("code", {}, operator), " ", remote_address],
      },
      {
        title: t("status"),
        cell: ({ status }) =>
          badge(status === null ? "info" : status < 300 ? "good" : "bad", status ?? t("unknown")),
      },
    ],
    async load(filters, limit, next) {
      const rows = await get<Action[]>("/actions", {
        ...{ ...filters, limit, ...next },
        language: document.documentElement.lang,
      });
      return limited(rows, limit, ({ id }) => id);
    },
    command: (filters) => commandText("actions", filters),
    file: "actions",
    none: t("audit.none"),
  });
  fill(root, pageHead(t("nav.audit"), t("audit.lead")), element);
}
