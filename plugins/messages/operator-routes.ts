import {
  type Command,
  done,
  isId,
  mapping,
  matching,
  type OperatorRoute,
  oneOf,
  type Refusal,
  reading,
  refuse,
  rowLimit,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import type { Channels } from "./channels.ts";
import type { Outbox } from "./outbox.ts";

const NAME = "a name of 1 to 60 letters, digits, dots and hyphens";
const TEXT = "a subject on the first line and a text below, of at most 20000 characters";
const ID = "the id of a message";
const KIND = "a kind of message, such as low-balance";
const ACCOUNT = "the id of an account";

const announced = v.pipe(
  v.string(TEXT),
  v.maxLength(20_000, TEXT),
  v.regex(/^(?:[^\p{C}\n]|\p{Cf}){1,200}\r?\n[^\0]*\S/u, TEXT),
);
const newAnnouncement = mapping({
  name: matching(/^[a-z0-9][a-z0-9.-]{0,59}$/i, NAME),
  kind: v.optional(oneOf(["announcement", "prices"]), "announcement"),
  vi: announced,
  en: announced,
});
const asked = mapping({
  state: v.optional(oneOf(["waiting", "failed", "sent"]), "waiting"),
  kind: v.optional(matching(/^[a-z-]{1,40}$/, KIND)),
  account: v.optional(v.pipe(v.string(ACCOUNT), v.check(isId, ACCOUNT))),
  before: v.optional(matching(/^\d{1,18}$/, ID)),
  limit: rowLimit(),
});

export const commands: readonly Command[] = [
  {
    words: "announce",
    about:
      "mail a text to all customers who want announcements, each in his language; a name is sent once. The first line of a file " +
      "is the subject; `reload` drafts one for changes of prices",
    method: "POST",
    path: "/admin/v1/announcements",
    options: [
      { name: "name", value: "NAME", example: "prices-2026-12", required: true },
      { name: "vi", value: "FILE", about: "in Vietnamese", type: "file", required: true },
      { name: "en", value: "FILE", about: "in English", type: "file", required: true },
      { name: "kind", value: "KIND", about: "prices: to customers who want changes of prices" },
    ],
  },
  {
    words: "message list",
    about: "list the messages that wait to be sent, were given up, or were sent, newest first",
    method: "GET",
    path: "/admin/v1/messages",
    options: [
      { name: "state", value: "STATE", about: "waiting (the default), failed or sent" },
      { name: "kind", value: "KIND", example: "low-balance" },
      { name: "account", value: "ID" },
      { name: "limit", value: "N" },
      { name: "before", value: "ID", about: "go on below this message" },
    ],
  },
  {
    words: "message show",
    about: "show a message with its text in both languages",
    method: "GET",
    path: "/admin/v1/messages/:id",
    options: [{ name: "id", value: "ID", required: true }],
  },
  {
    words: "message test",
    about: "send a trial to each channel to operators, and say what failed",
    method: "POST",
    path: "/admin/v1/messages/test",
  },
  {
    words: "message retry",
    about: "send a message now that waits or was given up",
    method: "POST",
    path: "/admin/v1/messages/:id/retry",
    options: [{ name: "id", value: "ID", required: true }],
  },
  {
    words: "message retry-all",
    about: "send all messages now that were given up",
    method: "POST",
    path: "/admin/v1/messages/retry-all",
  },
  {
    words: "message drop",
    about: "delete a message that waits or was given up",
    method: "POST",
    path: "/admin/v1/messages/:id/drop",
    options: [{ name: "id", value: "ID", required: true }],
  },
  {
    words: "message drop-all",
    about: "delete all messages that were given up",
    method: "POST",
    path: "/admin/v1/messages/drop-all",
  },
];

/** Routes for operators: announcements, and the outbox. */
export function operatorRoutes(
  { accounts, messages }: Services,
  outbox: Outbox,
  channels: Channels,
): OperatorRoute[] {
  async function shown(list: Awaited<ReturnType<Outbox["list"]>>) {
    const emails = await accounts.emails(list.flatMap(({ accountId }) => accountId ?? []));
    return list.map(({ accountId, createdAt, dueAt, sentAt, failedAt, ...message }) => ({
      to: message.channel ?? message.email ?? emails.get(accountId ?? "") ?? null,
      account: accountId,
      kind: message.kind,
      subject: message.texts?.en.subject ?? message.announcement,
      created_at: createdAt.toISOString(),
      attempts: message.attempts,
      failure: message.failure,
      next_attempt: sentAt === null && failedAt === null ? dueAt.toISOString() : null,
      failed_at: failedAt?.toISOString() ?? null,
      sent_at: sentAt?.toISOString() ?? null,
      id: String(message.id),
    }));
  }

  return [
    {
      method: "POST",
      path: "/announcements",
      right: "support",
      handle: reading(newAnnouncement, async (given) => {
        const { name } = given;
        if (!messages.current.sendsMail) {
          return refuse.conflict("No mail server is configured: set smtp of the plugin messages.", {
            code: "no_mail_server",
          });
        }
        const recipients = await outbox.announce(given);
        if (recipients !== undefined) return done({ name, recipients });
        return refuse.conflict(
          `An announcement named ${name} was sent before; take another name.`,
          { code: "sent_before", param: "name" },
        );
      }),
    },
    {
      method: "GET",
      path: "/messages",
      right: "customers",
      handle: reading(asked, async (given) => {
        return done(await shown(await outbox.list(given)));
      }),
    },
    {
      method: "POST",
      path: "/messages/test",
      right: "operations",
      async handle() {
        if (channels.names.length > 0) return done(await channels.test());
        return refuse.conflict("There is no channel: set operators of the plugin messages.", {
          code: "no_channel",
        });
      },
    },
    {
      method: "GET",
      path: "/messages/:id",
      right: "customers",
      async handle({ params }) {
        const id = idOf(params["id"]);
        if (id === undefined) return wrongId();
        const found = await outbox.find(id);
        if (found === undefined) return refuse.notFound(`id: there is no message ${id}`, "id");
        const [summary] = await shown([found]);
        const { texts, vi, en } = found;
        const text = (language: "vi" | "en") => texts?.[language].paragraphs.join("\n\n");
        return done({ ...summary, vi: vi ?? text("vi"), en: en ?? text("en") });
      },
    },
    ...changeRoutes("retry", (id) => outbox.retry(id)),
    ...changeRoutes("drop", (id) => outbox.drop(id)),
  ];
}

/** Routes that change one message, and all that were given up. `change` returns how many it changed. */
function changeRoutes(word: string, change: (id?: bigint) => Promise<number>): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: `/messages/${word}-all`,
      right: "support",
      handle: async () => done({ messages: await change() }),
    },
    {
      method: "POST",
      path: `/messages/:id/${word}`,
      right: "support",
      async handle({ params }) {
        const id = idOf(params["id"]);
        if (id === undefined) return wrongId();
        if ((await change(id)) > 0) return done({ id: String(id) });
        return refuse.notFound(`id: no message ${id} waits or was given up`, "id");
      },
    },
  ];
}

function idOf(text = ""): bigint | undefined {
  return /^\d{1,18}$/.test(text) ? BigInt(text) : undefined;
}

function wrongId(): Refusal {
  return refuse.badRequest(`id: expected ${ID}.`, "id");
}
