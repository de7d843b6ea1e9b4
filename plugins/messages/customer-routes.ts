import {
  type CustomerRoute,
  done,
  formatVnd,
  MICRO_VND_PER_VND,
  mapping,
  matching,
  oneOf,
  type PlainResponse,
  type PublicRoute,
  type Refusal,
  reading,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { SWITCHABLE } from "./kinds.ts";
import type { Options } from "./options.ts";

const KINDS = `a list of ${SWITCHABLE.join(", ")}`;

const AMOUNT = "whole đ from 0 to 999999999, as a string; null for the default";

const settings = mapping({
  off: v.optional(v.pipe(v.array(oneOf(SWITCHABLE), KINDS), v.maxLength(SWITCHABLE.length, KINDS))),
  low_balance_vnd: v.optional(v.nullable(matching(/^\d{1,9}$/, AMOUNT))),
});

/** Routes for customers: which mails they get. */
export function customerRoutes(
  { database, messages }: Services,
  options: Pick<Options, "low_balance_vnd">,
): CustomerRoute[] {
  async function shown(accountId: string): Promise<PlainResponse> {
    const [row] = await database.query<{ off: string[]; low: bigint | null }>(
      "select to_json(off) as off, low_balance as low from message_settings where account_id = $1",
      [accountId],
    );
    const { off = [], low = null } = row ?? {};
    return done({
      sends_mail: messages.current.sendsMail,
      kinds: SWITCHABLE,
      off,
      low_balance_vnd: low === null ? null : formatVnd(low),
      default_low_balance_vnd: String(options.low_balance_vnd),
    });
  }

  return [
    { method: "GET", path: "/messages", handle: (_, { accountId }) => shown(accountId) },
    {
      method: "POST",
      path: "/messages",
      handle: reading(settings, async ({ off, low_balance_vnd: low }, _, { accountId }) => {
        await database.query(
          `insert into message_settings as own (account_id, off, low_balance)
          values ($1, coalesce($2::text::text[], '{}'), $3::bigint)
          on conflict (account_id) do update set
            off = coalesce($2::text::text[], own.off),
            low_balance = case when $4 then $3::bigint else own.low_balance end`,
          [
            accountId,
            off === undefined ? null : `{${[...new Set(off)].join(",")}}`,
            low == null ? null : BigInt(low) * BigInt(MICRO_VND_PER_VND),
            low !== undefined,
          ],
        );
        return shown(accountId);
      }),
    },
  ];
}

/**
 * Routes for the address in the header `list-unsubscribe`. A mail program posts to it (RFC 8058). A person who opens it comes to the
 * page with all switches: programs that look at links must not switch anything off.
 */
export function unsubscribeRoutes({ customers, database }: Services): PublicRoute[] {
  const path = "/unsubscribe/:message/:token";
  const kindOf = async ({ message = "", token = "" }: Readonly<Record<string, string>>) => {
    const isForm = /^\d{1,18}$/.test(message) && /^[0-9a-f-]{36}$/.test(token);
    const [found] = isForm
      ? await database.query<{ accountId: string; kind: string }>(
          `select account_id as "accountId", kind from messages
          where id = $1 and token::text = $2 and account_id is not null`,
          [BigInt(message), token],
        )
      : [];
    return found;
  };
  return [
    {
      method: "GET",
      path,
      async handle({ params }) {
        if (!(await kindOf(params))) return noMail();
        const location = `${customers.current.publicUrl ?? ""}/dashboard/account`;
        return { status: 303, headers: ["location", location], body: "" };
      },
    },
    {
      method: "POST",
      path,
      async handle({ params }) {
        const found = await kindOf(params);
        if (!found) return noMail();
        await database.query(
          `insert into message_settings as own (account_id, off) values ($1, array[$2])
          on conflict (account_id) do update
            set off = array(select distinct unnest(own.off || excluded.off))`,
          [found.accountId, found.kind],
        );
        return done({});
      },
    },
  ];
}

function noMail(): Refusal {
  return refuse.notFound("There is no such mail: switch mails off on the page of the account.");
}
