import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field } from "../../../page-parts/browser/form.ts";
import { dateTime, vnd } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { Account, CallStory, FoundKey, OpenCall, Order, Transfer } from "../contract.ts";
import { customerLink } from "../customer-link.ts";
import { keyChangeColumns } from "../key-columns.ts";
import { withoutSecret } from "../secret.ts";
import { section } from "../section.ts";
import { get, hasCommand, may } from "../session.ts";
import { t } from "../text.ts";

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const CODE = /^[A-Z0-9]{6,25}$/i;
const FOUND_MAX = 20;

/** Finds customers, calls and transfers by whatever an operator has in hand. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  const query = field(
    t("nav.search"),
    { type: "search", name: "q", value: asked, maxlength: 254, autocomplete: "off" },
    t("search.hint"),
  );
  const results = el("div");
  const find = async () => {
    // The address, and so the history, never has a whole key.
    const text = withoutSecret(query.input.value.trim());
    query.input.value = text;
    // A filter stays on a reload, but not for other words.
    if (text !== new URLSearchParams(location.search).get("q"))
      history.replaceState(
        null,
        "",
        text === "" ? `${BASE}/search` : `?${new URLSearchParams({ q: text })}`,
      );
    if (text === "") return fill(results);
    // A slower reading of older words fills its own place.
    const place = el("div", { class: "grid" });
    fill(results, place);
    await loadInto(place, signal, async () => found(text, find));
  };
  const form = el("form", { class: "card", role: "search" }, query.element);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void find();
  });
  fill(root, pageHead(t("nav.search"), t("search.lead")), form, results);
  query.input.focus();
  if (asked !== "") await find();
}

async function found(text: string, again: () => Promise<void>): Promise<HTMLElement[]> {
  const isCode = CODE.test(text) && hasCommand("order show");
  const isKey = ID.test(text) || text.startsWith("tg-");
  // Parts of an address are refused without the right to see addresses, and all that was found would be lost.
  const mayFindAccounts = ID.test(text) || may("customers");
  const [accounts, keys, call, transfers, order] = await Promise.all([
    mayFindAccounts ? get<Account[]>("/accounts", { query: text, limit: FOUND_MAX }) : [],
    isKey ? get<FoundKey[]>("/keys", { query: text }) : [],
    ID.test(text) ? get<CallStory | OpenCall>(`/calls/${text}`).catch(() => undefined) : undefined,
    hasCommand("transfer list") && !text.includes("@")
      ? get<Transfer[]>("/transfers", { query: text, limit: FOUND_MAX })
      : [],
    isCode ? get<Order>(`/orders/${text}`).catch(() => undefined) : undefined,
  ]);
  const parts = [
    accounts.length > 0 &&
      hits(
        t("nav.customers"),
        accounts.map(({ id, email }) => [`/customers/${id}`, email, id]),
      ),
    keys.length > 0 && foundKeys(keys, text, again),
    call &&
      hits(t("nav.calls"), [
        [
          `/calls/${call.call_id}`,
          nameOf(call),
          dateTime(("since" in call ? call.since : call.at) ?? ""),
        ],
      ]),
    order &&
      hits(t("search.order"), [
        [
          `/customers/${order.account}`,
          `${order.code} · ${vnd(order.received_vnd)} / ${vnd(order.amount_vnd)}`,
          dateTime(order.created_at),
        ],
      ]),
    transfers.length > 0 &&
      hits(
        t("nav.money"),
        transfers.map(({ id, amount_vnd, content, order, received_at }) => [
          `/money/${encodeURIComponent(id)}`,
          `${vnd(amount_vnd ?? 0)} · ${content ?? order ?? ""}`,
          dateTime(received_at),
        ]),
      ),
  ].filter((part) => part instanceof HTMLElement);
  const none = [
    el("p", { class: "empty" }, t("search.none")),
    !mayFindAccounts && el("p", { class: "hint" }, t("search.onlyids")),
  ];
  const command = commandOf(text, order, call, transfers.length, mayFindAccounts);
  return [
    ...(parts.length > 0 ? parts : [card(null, none)]),
    ...(command === undefined ? [] : [commandLine(command)]),
  ];
}

/** The command that shows what was found first; undefined if the role may use none. */
function commandOf(
  text: string,
  order: Order | undefined,
  call: CallStory | OpenCall | undefined,
  transfers: number,
  mayFindAccounts: boolean,
): string | undefined {
  if (order) return commandText("order show", { code: order.code });
  if (call) return commandText("call show", { call: call.call_id });
  if (transfers > 0) return commandText("transfer list", { query: text });
  return mayFindAccounts ? commandText("account find", { query: text }) : undefined;
}

/** Keys with what ends their use: one that has leaked is revoked here. */
function foundKeys(keys: readonly FoundKey[], query: string, done: () => Promise<void>) {
  return section<FoundKey>({
    title: t("account.keys"),
    rows: keys,
    columns: [
      {
        title: t("key.name"),
        cell: ({ name, prefix }) => [name, " ", el("code", {}, `${prefix}…`)],
      },
      {
        title: t("money.owner"),
        cell: ({ account_id, email }) => customerLink(account_id, email),
      },
      { title: t("key.id"), cell: ({ id }) => el("a", { href: `${BASE}/calls?key=${id}` }, id) },
      ...keyChangeColumns(done),
    ],
    none: "",
    file: "keys",
    command: commandText("key find", { query }),
  });
}

function nameOf(call: CallStory | OpenCall): string {
  if ("cost_vnd" in call) return `${call.model} · ${vnd(call.cost_vnd)}`;
  return t(`call.state.${call.state}`);
}

function hits(
  title: string,
  all: readonly (readonly [path: string, text: string, note: string])[],
) {
  return card(
    title,
    el(
      "ul",
      { class: "items" },
      all.map(([path, text, note]) =>
        el(
          "li",
          { class: "item" },
          el("div", { class: "item-main" }, el("a", { href: BASE + path }, text)),
          el("span", { class: "hint" }, note),
        ),
      ),
    ),
  );
}
