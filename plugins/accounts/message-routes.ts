import {
  type Command,
  done,
  isRefusal,
  mapping,
  matching,
  type OperatorRoute,
  readBody,
  readQuery,
  refuse,
  v,
} from "../../core/plugin/index.ts";
import type { AccountContext } from "./account-context.ts";

const NAME = "a name of 1 to 60 letters, digits, dots and hyphens";
const TEXT = "a subject on the first line and a text below, of at most 20000 characters";
const LIMIT = "a whole number from 1 to 1000";
const ID = "the id of a mail";

const announced = v.pipe(
  v.string(TEXT),
  v.maxLength(20_000, TEXT),
  v.regex(/^(?:[^\p{C}\n]|\p{Cf}){1,200}\r?\n[^\0]*\S/u, TEXT),
);
const newAnnouncement = mapping({
  name: matching(/^[a-z0-9][a-z0-9.-]{0,59}$/i, NAME),
  vi: announced,
  en: announced,
});
const asked = mapping({
  failed: v.optional(v.literal("true", "true")),
  limit: v.optional(
    v.pipe(
      matching(/^\d{1,4}$/, LIMIT),
      v.transform(Number),
      v.minValue(1, LIMIT),
      v.maxValue(1000, LIMIT),
    ),
    "100",
  ),
});

export const messageCommands: readonly Command[] = [
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
    ],
  },
  {
    words: "messages",
    about: "list the mails that wait to be sent, or with --failed those that were given up",
    method: "GET",
    path: "/admin/v1/messages",
    options: [
      { name: "failed", type: "flag" },
      { name: "limit", value: "N" },
    ],
  },
  {
    words: "messages retry",
    about: "send a mail again that was given up",
    method: "POST",
    path: "/admin/v1/messages/:id/retry",
    options: [{ name: "id", value: "ID", required: true }],
  },
];

/** Routes for operators: announcements, and the outbox of mails. */
export function messageRoutes({ outbox, services }: AccountContext): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: "/announcements",
      right: "support",
      async handle({ body }) {
        const given = readBody(newAnnouncement, body);
        if (isRefusal(given)) return given;
        const { name, vi, en } = given;
        const recipients = await outbox.announce(name, { vi, en });
        if (recipients !== undefined) return done({ name, recipients });
        return refuse.conflict(
          `An announcement named ${name} was sent before; take another name.`,
          {
            code: "sent_before",
            param: "name",
          },
        );
      },
    },
    {
      method: "GET",
      path: "/messages",
      async handle({ query }) {
        const given = readQuery(asked, query);
        if (isRefusal(given)) return given;
        const list = await outbox.list(given.failed ? "failed" : "waiting", given.limit);
        const ids = new Set(list.map(({ accountId }) => accountId));
        const emails = await services.accounts.emails([...ids]);
        const shown = list.map(({ accountId, ...message }) => ({
          email: emails.get(accountId) ?? null,
          kind: message.kind,
          about: message.about,
          created_at: message.createdAt.toISOString(),
          attempts: message.attempts,
          failure: message.failure,
          next_attempt: message.failedAt === null ? message.dueAt.toISOString() : null,
          failed_at: message.failedAt?.toISOString() ?? null,
          id: String(message.id),
        }));
        return done(shown);
      },
    },
    {
      method: "POST",
      path: "/messages/:id/retry",
      right: "support",
      async handle({ params }) {
        const { id = "" } = params;
        if (!/^\d{1,18}$/.test(id)) return refuse.badRequest(`id: expected ${ID}.`, "id");
        if (await outbox.retry(BigInt(id))) return done({ id });
        return refuse.notFound(`id: no mail ${id} waits or was given up`, "id");
      },
    },
  ];
}
