import { el, fill } from "../../../page-parts/browser/dom.ts";
import { date, dayBefore, percent, vnd } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import type { Column } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { Account, Report } from "../contract.ts";
import { showCustomer } from "../customer.ts";
import { customerLink } from "../customer-link.ts";
import { list } from "../list.ts";
import { get, hasCommand } from "../session.ts";
import { stateBadge } from "../state-badge.ts";
import { showStatement } from "../statement.ts";
import { t } from "../text.ts";

interface Listed extends Account {
  readonly balance_vnd: string;
  /** The charges of its calls in thirty days; undefined without calls. */
  readonly spent_vnd?: string | undefined;
}

const DAYS = 30;
const REPORTED_MAX = 10_000;

/** All customers; or one with all that an operator asks about him. */
export async function render({ root, rest, signal }: PageContext): Promise<void> {
  const [account = "", part, month] = rest.split("/");
  if (part === "statements" && month) return showStatement(root, account, month, signal);
  if (rest !== "") return showCustomer(root, rest, signal);
  const from = dayBefore(DAYS - 1);
  let report: Promise<Report | undefined>;
  const { element } = list<Listed>({
    title: t("nav.customers"),
    signal,
    filters: [
      { name: "query", label: t("customers.query"), type: "search" },
      {
        name: "having",
        label: t("customers.having"),
        options: [
          ["", t("all")],
          ["balance", t("customers.having.balance")],
          ["budgets", t("customers.having.budgets")],
        ],
      },
    ],
    columns: [
      {
        title: t("customers.email"),
        cell: ({ id, email }) => customerLink(id, email),
      },
      {
        title: t("balance"),
        isNumber: true,
        cell: ({ id, balance_vnd }) => customerLink(id, vnd(balance_vnd)),
      },
      ...(hasCommand("report") ? [spentColumn(from)] : []),
      { title: t("customers.state"), cell: ({ status }) => stateBadge(status) },
      {
        title: t("customers.discount"),
        isNumber: true,
        cell: ({ id, discount_bps }) =>
          el("a", { href: `${BASE}/audit?account=${id}` }, percent(discount_bps)),
      },
      { title: t("customers.since"), cell: ({ created_at }) => date(created_at) },
    ],
    async load({ query = "", having }, limit, next) {
      const asked = { query, having, limit, balances: "true", ...next };
      const period = { from, to: dayBefore(0) };
      // One for all pages of a list, or of a file.
      if (next["after"] === undefined)
        report = hasCommand("report")
          ? get<Report>("/report", { by: "account", ...period, limit: REPORTED_MAX })
          : Promise.resolve(undefined);
      const [found, spending] = await Promise.all([get<Listed[]>("/accounts", asked), report]);
      const spent = new Map(spending?.rows.map((row) => [row.account_id, row.revenue_vnd]));
      const rows = found.map((row) => ({ ...row, spent_vnd: spent.get(row.id) }));
      const last = rows.at(-1);
      return { rows, next: last && rows.length === limit ? { after: last.id } : undefined };
    },
    command: ({ query = "", having }) =>
      query === ""
        ? commandText("account list", { having })
        : commandText("account find", { query, having }),
    file: "customers",
    none: t("search.none"),
  });
  fill(root, pageHead(t("nav.customers"), t("customers.lead")), element);
}

function spentColumn(from: string): Column<Listed> {
  return {
    title: t("customers.spent"),
    isNumber: true,
    cell: ({ id, spent_vnd }) =>
      spent_vnd === undefined
        ? "–"
        : el("a", { href: `${BASE}/calls?account=${id}&from=${from}` }, vnd(spent_vnd)),
  };
}
