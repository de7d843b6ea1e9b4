import { announce } from "../../../page-parts/browser/announce.ts";
import { badge } from "../../../page-parts/browser/badge.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dateTime, number } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { textIfAny, textsOf } from "../../../page-parts/browser/text.ts";
import { openAnnouncement } from "../announcement.ts";
import { BASE } from "../base.ts";
import { openChange } from "../change.ts";
import { commandLine, commandText } from "../command-line.ts";
import { customerLink } from "../customer-link.ts";
import { limited, list } from "../list.ts";
import { keepFresh } from "../live.ts";
import { smallButton, subsection } from "../section.ts";
import { get, may, post } from "../session.ts";
import { t } from "../text.ts";

const STATES = ["waiting", "failed", "sent"] as const;

interface Message {
  /** The address of a customer, or the name of a channel to operators. */
  readonly to: string | null;
  readonly account: string | null;
  readonly kind: string;
  readonly subject: string | null;
  readonly created_at: string;
  readonly attempts: number;
  readonly failure: string | null;
  readonly next_attempt: string | null;
  readonly failed_at: string | null;
  readonly sent_at: string | null;
  readonly id: string;
}

interface WholeMessage extends Message {
  readonly vi?: string;
  readonly en?: string;
}

interface Tried {
  readonly channel: string;
  readonly sent: boolean;
  readonly failure: string | null;
}

/** Mails to customers and messages to operators; or one of them. */
export async function render({ root, rest, signal }: PageContext): Promise<void> {
  if (rest !== "") return one(root, rest, signal);
  const again = (): Promise<void> => messages.reload();
  const messages = list<Message>({
    title: t("nav.messages"),
    signal,
    filters: [
      {
        name: "state",
        label: t("customers.state"),
        options: STATES.map((state) => [state, t(`message.${state}`)] as const),
        standard: "waiting",
      },
      {
        name: "kind",
        label: t("message.kind"),
        options: [["", t("all")], ...textsOf("kind.")],
      },
      { name: "account", label: t("calls.account") },
    ],
    columns: [
      {
        title: t("message.written"),
        cell: ({ id, created_at }) =>
          el("a", { href: `${BASE}/messages/${id}` }, dateTime(created_at)),
      },
      { title: t("message.to"), cell: recipient },
      { title: t("message.kind"), cell: ({ kind }) => kindText(kind) },
      { title: t("message.subject"), cell: ({ subject }) => subject ?? "" },
      { title: t("message.attempts"), isNumber: true, cell: ({ attempts }) => number(attempts) },
      { title: t("customers.state"), cell: state },
      {
        title: t("actions"),
        cell: (message) => [retryButton(message, again), dropButton(message, again)],
      },
    ],
    async load(filters, limit, next) {
      const rows = await get<Message[]>("/messages", { ...filters, limit, ...next });
      return limited(rows, limit, ({ id }) => id);
    },
    command: (filters) => commandText("message list", filters),
    file: "messages",
    none: t("message.none"),
  });
  const write = el("button", { type: "button" }, t("announce"));
  write.addEventListener("click", () => openAnnouncement({ vi: "", en: "" }, again));
  fill(
    root,
    pageHead(t("nav.messages"), t("message.lead"), may("support") && write),
    messages.element,
    may("operations") && channels(),
  );
  keepFresh(messages, signal);
}

async function one(root: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  const place = el("div", { class: "grid" });
  fill(root, pageHead(t("message.title"), el("code", {}, id)), place);
  const load = () =>
    loadInto(place, signal, async (isWanted) => {
      const message = await get<WholeMessage>(`/messages/${encodeURIComponent(id)}`);
      const { subject, vi, en } = message;
      if (isWanted()) {
        const retry = retryButton(message, load);
        fill(root, pageHead(t("message.title"), el("code", {}, id), retry), place);
      }
      return [
        card(subject, facts(message)),
        vi !== undefined && card("Tiếng Việt", el("pre", { lang: "vi" }, vi)),
        en !== undefined && card("English", el("pre", { lang: "en" }, en)),
        commandLine(commandText("message show", { id })),
      ];
    });
  await load();
}

function facts(message: Message): HTMLElement {
  const { attempts, created_at, failure, kind, next_attempt, failed_at, sent_at } = message;
  const times = [
    [t("message.next"), next_attempt],
    [t("message.failed"), failed_at],
    [t("message.sent"), sent_at],
  ] as const;
  return pairs([
    [t("customers.state"), state({ ...message, failure: null })],
    [t("message.to"), recipient(message)],
    [t("message.kind"), kindText(kind)],
    [t("message.written"), dateTime(created_at)],
    [t("message.attempts"), number(attempts)],
    ...(failure === null ? [] : [[t("upstreams.last"), el("code", {}, failure)] as const]),
    ...times.flatMap(([name, at]) => (at === null ? [] : [[name, dateTime(at)] as const])),
  ]);
}

/** Sends a trial to each channel to operators, and shows how it went. */
function channels(): HTMLElement {
  const command = commandText("message test");
  const place = el("div", { class: "stack" }, commandLine(command));
  const test = el("button", { type: "button" }, t("channel.test"));
  test.addEventListener("click", async () => {
    if (test.getAttribute("aria-busy") === "true") return;
    test.setAttribute("aria-busy", "true");
    try {
      const tried = await post<readonly Tried[]>("/messages/test", {});
      fill(place, outcome(tried, command));
      announce(t("list.count", { count: tried.length }));
    } catch (error) {
      fill(place, notice("bad", failureText(error)));
    }
    test.removeAttribute("aria-busy");
  });
  return card(
    t("channel"),
    el("p", {}, t("channel.about")),
    el("div", { class: "row" }, test),
    place,
  );
}

function outcome(tried: readonly Tried[], command: string): HTMLElement {
  return subsection({
    title: t("channel.tried"),
    rows: tried,
    columns: [
      { title: t("message.to"), cell: ({ channel }) => channel },
      {
        title: t("customers.state"),
        cell: ({ sent, failure }) =>
          sent ? badge("good", t("message.sent")) : badge("bad", failure ?? t("message.failed")),
      },
    ],
    none: "",
    file: "channels",
    command,
  });
}

function recipient({ to, account }: Message): Child {
  if (account === null) return to;
  return customerLink(account, to ?? t("show"));
}

function kindText(kind: string): string {
  return textIfAny(`kind.${kind}`) ?? kind;
}

function state({ sent_at, failed_at, failure }: Message): Child {
  if (sent_at !== null) return badge("good", t("message.sent"));
  const badgeOf =
    failed_at === null ? badge("info", t("message.waiting")) : badge("bad", t("message.failed"));
  return [badgeOf, failure !== null && [" ", el("small", { class: "hint" }, failure)]];
}

function retryButton(message: Message, done: () => Promise<void>): Child {
  if (message.sent_at !== null) return false;
  return changeButton("retry", message, done);
}

function dropButton(message: Message, done: () => Promise<void>): Child {
  return message.failed_at !== null && changeButton("drop", message, done);
}

function changeButton(
  word: "retry" | "drop",
  { id, to, subject }: Message,
  done: () => Promise<void>,
): Child {
  if (!may("support")) return false;
  const action = t(`message.${word}`);
  return smallButton(action, `${to ?? ""}, ${id}`, () =>
    openChange({
      title: action,
      about: el("p", {}, `${to ?? ""} · ${subject ?? ""}`),
      fields: [],
      path: `/messages/${id}/${word}`,
      command: `message ${word}`,
      of: { id },
      done,
    }),
  );
}
