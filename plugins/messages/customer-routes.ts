import {
  type CustomerRoute,
  done,
  isRefusal,
  mapping,
  oneOf,
  type PlainResponse,
  type PublicRoute,
  readBody,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { SWITCHABLE } from "./kinds.ts";

const KINDS = `a list of ${SWITCHABLE.join(", ")}`;

const settings = mapping({
  off: v.optional(v.pipe(v.array(oneOf(SWITCHABLE), KINDS), v.maxLength(SWITCHABLE.length, KINDS))),
});

/** Routes for customers: which mails they get. */
export function customerRoutes({ database, messages }: Services): CustomerRoute[] {
  async function shown(accountId: string): Promise<PlainResponse> {
    const [row] = await database.query<{ off: string[] }>(
      "select to_json(off) as off from message_settings where account_id = $1",
      [accountId],
    );
    return done({ sends_mail: messages.current.sendsMail, kinds: SWITCHABLE, off: row?.off ?? [] });
  }

  return [
    { method: "GET", path: "/messages", handle: (_, { accountId }) => shown(accountId) },
    {
      method: "POST",
      path: "/messages",
      async handle({ body }, { accountId }) {
        const given = readBody(settings, body);
        if (isRefusal(given)) return given;
        if (given.off) {
          await database.query(
            `insert into message_settings (account_id, off) values ($1, $2::text::text[])
            on conflict (account_id) do update set off = excluded.off`,
            [accountId, `{${[...new Set(given.off)].join(",")}}`],
          );
        }
        return shown(accountId);
      },
    },
  ];
}

/**
 * Routes for the address in the header `list-unsubscribe`. A mail program posts to it (RFC 8058). A person who opens it comes to the
 * page with all switches: programs that look at links must not switch anything off.
 */
export function unsubscribeRoutes({ customers, database }: Services): PublicRoute[] {
  const path = "/unsubscribe/:message/:token";
  return [
    {
      method: "GET",
      path,
      async handle() {
        const location = `${customers.current.publicUrl ?? ""}/dashboard/account`;
        return { status: 303, headers: ["location", location], body: "" };
      },
    },
    {
      method: "POST",
      path,
      async handle({ params }) {
        const { message = "", token = "" } = params;
        const isForm = /^\d{1,18}$/.test(message) && /^[0-9a-f-]{36}$/.test(token);
        const found = isForm
          ? await database.query(
              `insert into message_settings as own (account_id, off)
              select account_id, array[kind] from messages
              where id = $1 and token::text = $2 and account_id is not null
              on conflict (account_id) do update
                set off = array(select distinct unnest(own.off || excluded.off))
              returning account_id`,
              [BigInt(message), token],
            )
          : [];
        if (found.length > 0) return done({});
        return refuse.notFound(
          "There is no such mail: switch mails off on the page of the account.",
        );
      },
    },
  ];
}
