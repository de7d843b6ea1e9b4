import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import {
  date,
  dateTime,
  dayBefore,
  dayLong,
  exactVnd,
  number,
  percent,
  vnd,
} from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { openDiscount, openMovement, openRevoke, openStanding } from "../account-changes.ts";
import { BASE } from "../base.ts";
import { callColumns, refusedColumns } from "../call-columns.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { Account, Key, Ledger, Movement, WholeAccount } from "../contract.ts";
import { downloadCsv } from "../download.ts";
import { list } from "../list.ts";
import { withoutSecret } from "../secret.ts";
import { get, may } from "../session.ts";
import { type Column, figures, table } from "../table.ts";
import { t } from "../text.ts";

interface Listed extends Account {
  readonly balance_vnd: string;
}

/** All customers; or one with all that an operator asks about him. */
export async function render({ root, rest, signal }: PageContext): Promise<void> {
  if (rest !== "") return one(root, rest, signal);
  const { element } = list<Listed>({
    title: t("nav.customers"),
    signal,
    filters: [{ name: "query", label: t("customers.query"), type: "search" }],
    columns: [
      {
        title: t("customers.email"),
        cell: ({ id, email }) => el("a", { href: `${BASE}/customers/${id}` }, email),
      },
      {
        title: t("customers.balance"),
        isNumber: true,
        cell: ({ balance_vnd }) => vnd(balance_vnd),
      },
      { title: t("customers.state"), cell: ({ status }) => stateBadge(status) },
      {
        title: t("customers.discount"),
        isNumber: true,
        cell: ({ discount_bps }) => percent(discount_bps),
      },
      { title: t("customers.since"), cell: ({ created_at }) => date(created_at) },
    ],
    async load({ query = "" }, limit, next) {
      const asked = { query: withoutSecret(query), limit, balances: "true", ...next };
      const rows = await get<Listed[]>("/accounts", asked);
      const last = rows.at(-1);
      return { rows, next: last && rows.length === limit ? { after: last.id } : undefined };
    },
    command: ({ query = "" }) =>
      query === ""
        ? commandText("account list")
        : commandText("account find", { query: withoutSecret(query) }),
    file: "customers",
    none: t("search.none"),
  });
  fill(root, pageHead(t("nav.customers"), t("customers.lead")), element);
}

async function one(root: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  const place = el("div", { class: "grid" });
  fill(root, pageHead(t("nav.customers"), el("code", {}, id)), place);
  const load = async () =>
    loadInto(place, signal, async () => {
      const path = `/accounts/${encodeURIComponent(id)}`;
      const [account, ledger] = await Promise.all([
        get<WholeAccount>(path),
        get<Ledger>(`${path}/ledger`, period()),
      ]);
      if (!signal.aborted) fill(root, head(account, load), place);
      return sections(account, ledger, load);
    });
  await load();
}

function head(account: WholeAccount, done: () => Promise<void>): HTMLElement {
  const button = (text: string, open: () => void) =>
    el("button", { type: "button", onclick: open }, text);
  return pageHead(
    account.email,
    [el("code", {}, account.id), " ", stateBadge(account.status)],
    may("money") && [
      button(t("account.credit"), () => openMovement(account, 1, done)),
      button(t("account.debit"), () => openMovement(account, -1, done)),
      button(t("account.discount"), () => openDiscount(account, done)),
    ],
    may("support") &&
      button(t(account.status === "active" ? "account.suspend" : "account.resume"), () =>
        openStanding(account, done),
      ),
  );
}

function sections(account: WholeAccount, ledger: Ledger, done: () => Promise<void>): HTMLElement[] {
  const { id, email, wallet, keys, last_calls, last_refused } = account;
  const { from, to } = period();
  const charged = ledger.rows
    .filter(({ kind }) => kind === "charges")
    .reduce((sum, { amount_vnd }) => sum - Number(amount_vnd), 0);
  const file = el(
    "button",
    { type: "button", class: "small", onclick: () => downloadCsv(`ledger-${id}`, ledger.rows) },
    t("list.csv"),
  );
  return [
    card(
      t("account.wallet"),
      figures([
        { name: t("customers.balance"), ...amount(wallet?.balance_vnd) },
        { name: t("account.available"), ...amount(wallet?.available_vnd) },
        { name: t("account.held"), ...amount(wallet?.held_vnd) },
        {
          name: t("account.charged", { from: dayLong(from) }),
          value: vnd(charged),
          href: `${BASE}/calls?account=${id}&from=${from}`,
        },
        { name: t("customers.discount"), value: percent(account.discount_bps) },
        { name: t("customers.since"), value: date(account.created_at) },
      ]),
      commandLine(commandText("account show", { account: email })),
    ),
    card(
      t("account.movements", { from: dayLong(from), to: dayLong(to) }),
      periodForm(from, to, done),
      ledger.cut && notice("info", t("account.cut")),
      table(t("account.movements", { from, to }), movementColumns(id), [...ledger.rows].reverse()),
      el("div", { class: "row end" }, file),
      commandLine(commandText("ledger", { account: email, from, to })),
    ),
    card(
      t("account.keys"),
      table(t("account.keys"), keyColumns(done), keys),
      commandLine(commandText("key list", { account: email })),
    ),
    card(
      t("account.calls"),
      table(t("account.calls"), callColumns(), last_calls),
      el("p", {}, el("a", { href: `${BASE}/calls?account=${id}` }, t("account.allcalls"))),
      commandLine(commandText("call list", { account: id })),
    ),
    card(
      t("account.refused"),
      last_refused.length > 0
        ? table(t("account.refused"), refusedColumns(), last_refused)
        : el("p", { class: "hint" }, t("calls.none")),
      commandLine(commandText("refused", { account: email })),
    ),
  ];
}

function amount(vndText: string | undefined): { value: string; title?: string } {
  return vndText === undefined
    ? { value: t("unknown") }
    : { value: vnd(vndText), title: exactVnd(vndText) };
}

/** The days of the address; default: this month. */
function period(): { readonly from: string; readonly to: string } {
  const asked = new URLSearchParams(location.search);
  const today = dayBefore(0);
  return { from: asked.get("from") || `${today.slice(0, 7)}-01`, to: asked.get("to") || today };
}

function periodForm(from: string, to: string, changed: () => Promise<void>): HTMLElement {
  const day = (name: "from" | "to", value: string) => {
    const input = el("input", { type: "date", name, value, required: true });
    return el("label", { class: "field" }, t(name), input);
  };
  const form = el("form", { class: "filters" }, day("from", from), day("to", to));
  form.addEventListener("change", () => {
    if (!form.checkValidity()) return;
    const [first, last] = [...form.querySelectorAll("input")].map(({ value }) => value);
    if (first === undefined || last === undefined || first > last) return;
    history.replaceState(null, "", `?${new URLSearchParams({ from: first, to: last })}`);
    void changed();
  });
  return form;
}

function movementColumns(id: string): readonly Column<Movement>[] {
  return [
    { title: t("movement.at"), cell: ({ at, day }) => (at === null ? dayLong(day) : dateTime(at)) },
    {
      title: t("movement.what"),
      cell: ({ kind, calls, day, reason }) =>
        kind === "charges"
          ? el(
              "a",
              { href: `${BASE}/calls?account=${id}&from=${day}&to=${day}` },
              t("movement.charges", { count: number(calls) }),
            )
          : [t(`movement.${kind}`), " ", el("small", { class: "hint" }, reason ?? "")],
    },
    { title: t("movement.reference"), cell: ({ reference }) => reference ?? "" },
    { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => exactVnd(amount_vnd) },
    {
      title: t("movement.after"),
      isNumber: true,
      cell: ({ balance_vnd }) => exactVnd(balance_vnd),
    },
  ];
}

function keyColumns(done: () => Promise<void>): readonly Column<Key>[] {
  return [
    { title: t("key.name"), cell: ({ name }) => name },
    { title: t("key.prefix"), cell: ({ prefix }) => el("code", {}, `${prefix}…`) },
    { title: t("customers.state"), cell: ({ status }) => stateBadge(status) },
    { title: t("customers.since"), cell: ({ created_at }) => date(created_at) },
    {
      title: t("nav.calls"),
      cell: ({ id, name }) =>
        el(
          "a",
          { href: `${BASE}/calls?key=${id}` },
          t("show"),
          el("span", { class: "hidden" }, ` ${name}`),
        ),
    },
    {
      title: t("key.revoke"),
      cell: (key) =>
        key.status === "active" &&
        may("support") &&
        el(
          "button",
          {
            type: "button",
            class: "small danger",
            "aria-label": `${t("key.revoke")}: ${key.name}`,
            onclick: () => openRevoke(key, done),
          },
          t("key.revoke"),
        ),
    },
    {
      title: t("key.id"),
      cell: ({ id, name }) => copyButton(`${t("copy")} ${name}`, () => id, t("copy")),
    },
  ];
}

function stateBadge(status: Account["status"] | Key["status"]): HTMLElement {
  return el(
    "span",
    { class: `badge ${status === "active" ? "good" : "bad"}` },
    t(`state.${status}`),
  );
}
