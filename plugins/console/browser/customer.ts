import { badge } from "../../page-parts/browser/badge.ts";
import { el, fill } from "../../page-parts/browser/dom.ts";
import { notice } from "../../page-parts/browser/form.ts";
import {
  ago,
  date,
  dateTime,
  dayBefore,
  dayLong,
  exactVnd,
  monthName,
  number,
  percent,
  vnd,
} from "../../page-parts/browser/format.ts";
import { shownLimits } from "../../page-parts/browser/key-limits.ts";
import { card, loadInto, pageHead } from "../../page-parts/browser/page-head.ts";
import { type Column, figures } from "../../page-parts/browser/table.ts";
import { textIfAny } from "../../page-parts/browser/text.ts";
import {
  openDiscount,
  openEmail,
  openMovement,
  openReasoned,
  openWelcome,
} from "./account-changes.ts";
import { setQuery } from "./address.ts";
import { BASE } from "./base.ts";
import { callColumns, refusedColumns } from "./call-columns.ts";
import { commandLine, commandText } from "./command-line.ts";
import type {
  Account,
  Action,
  ClosedMonth,
  Key,
  Ledger,
  Movement,
  Order,
  SignIn,
  WholeAccount,
} from "./contract.ts";
import { keyChangeColumns } from "./key-columns.ts";
import { movementCause } from "./movements.ts";
import { section, smallButton } from "./section.ts";
import { get, hasCommand, may } from "./session.ts";
import { stateBadge } from "./state-badge.ts";
import { t } from "./text.ts";
import { whenChosen } from "./when-chosen.ts";

type Done = () => Promise<void>;

/** Rows of each list that has a page or a command of its own. */
const SHOWN = 10;

/** All that is read of a customer. A part whose plugin is not there is undefined. */
interface Customer {
  readonly account: WholeAccount;
  readonly ledger: Ledger;
  readonly actions: readonly Action[];
  readonly signIn: SignIn | undefined;
  readonly orders: readonly Order[] | undefined;
  readonly months: readonly ClosedMonth[] | undefined;
}

/** One customer, with all that an operator asks about him. */
export async function showCustomer(
  root: HTMLElement,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const place = el("div", { class: "grid" });
  fill(root, pageHead(t("nav.customers"), el("code", {}, id)), place);
  const load = async () =>
    loadInto(place, signal, async (isWanted) => {
      const customer = await read(id);
      if (isWanted()) fill(root, head(customer.account, load), place);
      return sections(customer, load);
    });
  await load();
}

async function read(id: string): Promise<Customer> {
  const path = `/accounts/${encodeURIComponent(id)}`;
  const unless = async <Answer>(words: string, part: string) =>
    hasCommand(words) ? get<Answer>(path + part) : undefined;
  const [account, ledger, actions, signIn, orders, months] = await Promise.all([
    get<WholeAccount>(path),
    get<Ledger>(`${path}/ledger`, period()),
    get<Action[]>("/actions", {
      ...{ account: id, limit: SHOWN },
      language: document.documentElement.lang,
    }),
    unless<SignIn>("account sessions", "/sessions"),
    unless<Order[]>("order list", `/orders?limit=${SHOWN}`),
    may("customers") ? unless<ClosedMonth[]>("statement", "/statement") : undefined,
  ]);
  return { account, ledger, actions, signIn, orders, months };
}

function head(account: WholeAccount, done: Done): HTMLElement {
  const button = (text: string, open: () => void) =>
    el("button", { type: "button", onclick: open }, text);
  const standing = account.status === "active" ? "suspend" : "resume";
  return pageHead(
    account.email,
    [el("code", {}, account.id), " ", stateBadge(account.status)],
    may("money") && [
      button(t("account.credit"), () => openMovement(account, 1, done)),
      button(t("account.debit"), () => openMovement(account, -1, done)),
      button(t("account.discount"), () => openDiscount(account, done)),
    ],
    may("support") && button(t(`account.${standing}`), () => openReasoned(account, standing, done)),
  );
}

function sections(customer: Customer, done: Done): (HTMLElement | undefined)[] {
  const { account, ledger, actions, signIn, orders, months } = customer;
  const { id, email, keys, last_calls, last_refused } = account;
  const { from, to } = period();
  return [
    walletCard(account, ledger),
    section({
      title: t("account.keys"),
      rows: keys,
      columns: keyColumns(done),
      none: t("key.none"),
      file: "keys",
      command: commandText("key list", { account: email }),
    }),
    section({
      title: t("account.movements", { from: dayLong(from), to: dayLong(to) }),
      above: [periodForm(from, to, done), ledger.cut && notice("info", t("account.cut"))],
      rows: [...ledger.rows].reverse(),
      columns: movementColumns(id),
      none: t("account.movements.none"),
      file: `ledger-${id}`,
      command: commandText("ledger", { account: email, from, to }),
    }),
    section({
      title: t("account.calls"),
      rows: last_calls,
      columns: callColumns(),
      none: t("calls.none"),
      below: el("p", {}, el("a", { href: `${BASE}/calls?account=${id}` }, t("account.allcalls"))),
      file: "calls",
      command: commandText("call list", { account: id }),
    }),
    section({
      title: t("account.refused"),
      rows: last_refused,
      columns: refusedColumns(),
      none: t("calls.none"),
      file: "refused",
      command: commandText("refused", { account: email }),
    }),
    orders && orderSection(account, orders),
    months && monthSection(account, months),
    signIn && signInSection(account, signIn, done),
    section({
      title: t("account.notes"),
      above: el(
        "div",
        { class: "row" },
        may("support") &&
          smallButton(t("account.note"), email, () => openReasoned(account, "note", done)),
        el("a", { href: `${BASE}/audit?account=${id}` }, t("account.notes.all")),
      ),
      rows: actions,
      columns: [
        { title: t("time"), cell: ({ at }) => dateTime(at) },
        { title: t("audit.what"), cell: ({ sentence }) => sentence },
        { title: t("reason"), cell: ({ reason }) => (reason === null ? "" : String(reason)) },
        { title: t("audit.who"), cell: ({ operator }) => operator },
      ],
      none: t("audit.none"),
      file: "actions",
      command: commandText("actions", { account: id }),
    }),
  ];
}

function walletCard(account: WholeAccount, ledger: Ledger): HTMLElement {
  const { id, email, wallet, discounts } = account;
  const { from, to } = period();
  const charged = ledger.rows
    .filter(({ kind }) => kind === "charges")
    .reduce((sum, { amount_vnd }) => sum - Number(amount_vnd), 0);
  const calls = `${BASE}/calls?account=${id}&from=${from}&to=${to}`;
  // The movements since it was created add up to the balance.
  const all = `${BASE}/customers/${id}?from=${account.created_at.slice(0, 10)}`;
  const audit = `${BASE}/audit?account=${id}`;
  return card(
    t("account.wallet"),
    figures([
      { name: t("balance"), ...amount(wallet?.balance_vnd), href: all },
      { name: t("account.available"), ...amount(wallet?.available_vnd), href: all },
      { name: t("account.held"), ...amount(wallet?.held_vnd), href: `${BASE}/books` },
      {
        name: t("account.charged", { from: dayLong(from), to: dayLong(to) }),
        value: vnd(charged),
        href: calls,
      },
      {
        name: t("customers.discount"),
        value: percent(discounts.reduce((sum, { bps }) => sum + bps, account.discount_bps)),
        note: discountNames(account),
        href: audit,
      },
      { name: t("customers.since"), value: date(account.created_at), href: audit },
    ]),
    commandLine(commandText("account show", { account: email })),
  );
}

/** The parts of the discount, each by its name. */
function discountNames({ discount_bps, discounts }: WholeAccount): string {
  const own = discount_bps > 0 ? [`${t("discount.own")} ${percent(discount_bps)}`] : [];
  const others = discounts.map(
    ({ name, bps, until }) =>
      `${textIfAny(`discount.${name}`) ?? name} ${percent(bps)}` +
      (until === null ? "" : ` (${t("discount.until", { time: dateTime(until) })})`),
  );
  return [...own, ...others].join(", ");
}

function orderSection({ id, email }: Account, orders: readonly Order[]): HTMLElement {
  return section({
    title: t("account.orders"),
    rows: orders,
    columns: [
      { title: t("customers.since"), cell: ({ created_at }) => dateTime(created_at) },
      {
        title: t("money.order"),
        cell: ({ code }) => el("a", { href: `${BASE}/money?query=${code}` }, el("code", {}, code)),
      },
      { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => vnd(amount_vnd) },
      { title: t("money.received"), isNumber: true, cell: ({ received_vnd }) => vnd(received_vnd) },
      { title: t("customers.state"), cell: ({ status }) => t(`order.${status}`) },
    ],
    none: t("account.orders.none"),
    below: el("p", {}, el("a", { href: `${BASE}/money?account=${id}` }, t("account.transfers"))),
    file: "orders",
    command: commandText("order list", { account: email }),
  });
}

/** Returns the address of the movements of a customer's month. */
export function monthOf(id: string, month: string): string {
  const last = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0));
  const days = { from: `${month}-01`, to: last.toISOString().slice(0, 10) };
  return `${BASE}/customers/${id}?${new URLSearchParams(days)}`;
}

function monthSection({ id, email }: Account, months: readonly ClosedMonth[]): HTMLElement {
  return section({
    title: t("account.statements"),
    rows: months,
    columns: [
      {
        title: t("money.month"),
        cell: ({ month }) => el("a", { href: monthOf(id, month) }, monthName(month)),
      },
      { title: t("money.opening"), isNumber: true, cell: (one) => exactVnd(one.opening_vnd) },
      { title: t("money.closing"), isNumber: true, cell: (one) => exactVnd(one.closing_vnd) },
      {
        title: t("invoice"),
        cell: ({ month }) =>
          may("customers") &&
          el("a", { href: `${BASE}/customers/${id}/statements/${month}` }, t("show")),
      },
    ],
    none: t("account.statements.none"),
    file: "statements",
    command: commandText("statement", { account: email }),
  });
}

function signInSection(account: Account, signIn: SignIn, done: Done): HTMLElement {
  const { email_verified, has_password, second_factor, sessions } = signIn;
  const button = (text: string, open: () => void) => smallButton(text, account.email, open);
  return section({
    title: t("account.signin"),
    above: [
      el(
        "p",
        { class: "row" },
        badge(email_verified ? "good" : "info", t(`signin.verified.${email_verified}`)),
        badge(has_password ? "good" : "info", t(`signin.password.${has_password}`)),
        badge(second_factor ? "good" : "info", t(`signin.factor.${second_factor}`)),
      ),
      may("support") &&
        el(
          "div",
          { class: "row" },
          sessions.length > 0 &&
            button(t("account.signout"), () => openReasoned(account, "signout", done)),
          second_factor && button(t("account.factor"), () => openReasoned(account, "factor", done)),
          !has_password && button(t("account.welcome"), () => openWelcome(account, done)),
          button(t("account.email"), () => openEmail(account, done)),
          account.status !== "closed" &&
            button(t("account.close"), () => openReasoned(account, "close", done)),
        ),
    ],
    rows: sessions,
    columns: [
      { title: t("session.since"), cell: ({ created_at }) => dateTime(created_at) },
      { title: t("session.seen"), cell: ({ seen_at }) => ago(seen_at) },
      { title: t("session.address"), cell: ({ remote_address }) => remote_address ?? "" },
      { title: t("session.browser"), cell: ({ user_agent }) => user_agent ?? "" },
    ],
    none: t("session.none"),
    file: "sessions",
    command: commandText("account sessions", { account: account.email }),
  });
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
  whenChosen(form, () => {
    if (!form.checkValidity()) return;
    const [first, last] = [...form.querySelectorAll("input")].map(({ value }) => value);
    if (first === undefined || last === undefined || first > last) return;
    setQuery({ from: first, to: last });
    void changed();
  });
  return form;
}

function movementColumns(id: string): readonly Column<Movement>[] {
  return [
    { title: t("time"), cell: ({ at, day }) => (at === null ? dayLong(day) : dateTime(at)) },
    {
      title: t("movement.what"),
      cell: ({ kind, calls, day, reason }) =>
        kind === "charges"
          ? el(
              "a",
              { href: `${BASE}/calls?account=${id}&from=${day}&to=${day}` },
              t("calls.count", { count: number(calls) }),
            )
          : [t(`movement.${kind}`), " ", el("small", { class: "hint" }, reason ?? "")],
    },
    { title: t("movement.reference"), cell: movementCause },
    { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => exactVnd(amount_vnd) },
    {
      title: t("movement.after"),
      isNumber: true,
      cell: ({ balance_vnd }) => exactVnd(balance_vnd),
    },
  ];
}

function keyColumns(done: Done): readonly Column<Key>[] {
  return [
    {
      title: t("key.name"),
      cell: ({ id, name, prefix, created_at }) => [
        el("a", { href: `${BASE}/calls?key=${id}` }, name),
        " ",
        el("code", {}, `${prefix}…`),
        " ",
        el("small", { class: "hint" }, date(created_at)),
      ],
    },
    { title: t("keys.limits"), cell: (key) => shownLimits(key) || "–" },
    ...keyChangeColumns(done),
  ];
}
