import {
  type Command,
  done,
  email,
  line,
  mapping,
  type OperatorRoute,
  type Refusal,
  reading,
  refuse,
  roles,
  v,
  walletJson,
} from "../../core/plugin/index.ts";
import type { AccountContext } from "./account-context.ts";
import type { Credentials } from "./credentials.ts";
import { invitationCommands, invitationRoutes } from "./invitation-routes.ts";
import { revokeAll } from "./own-keys.ts";

const reason = line(500, "a reason of 1 to 500 characters on one line");
const reasoned = mapping({ reason });
const newWelcome = mapping({ again: v.optional(v.boolean("true or false"), false) });
const newEmail = mapping({ to: email, reason });

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  ...invitationCommands,
  {
    words: "account welcome",
    about:
      "mail a customer who has no password yet a link to set one, valid for 7 days; none while a link is valid, except with --again",
    method: "POST",
    path: "/admin/v1/accounts/:account/welcome",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "again", about: "the mail before was lost", type: "flag" },
    ],
  },
  {
    words: "account email",
    about:
      "change the address that a customer signs in with, and tell both addresses; ends all sessions, keys stay. Be sure who asks " +
      "for it: the new address can reset the password",
    method: "POST",
    path: "/admin/v1/accounts/:account/email",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      {
        name: "to",
        value: "EMAIL",
        about: "the new address",
        example: "new@example.com",
        required: true,
      },
      { name: "reason", value: "TEXT", required: true },
    ],
  },
  {
    words: "account close",
    about:
      "close an account: revoke all keys, end all sessions, refuse sign-ins; the balance stays and is shown. `account resume` opens " +
      "it again, without the keys",
    method: "POST",
    path: "/admin/v1/accounts/:account/close",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "reason", value: "TEXT", required: true },
    ],
  },
  {
    words: "account sessions",
    about: "show how a customer signs in: address verified, password, second factor, open sessions",
    method: "GET",
    path: "/admin/v1/accounts/:account/sessions",
    options: [{ name: "account", value: "ID|EMAIL", required: true }],
  },
  {
    words: "account sign-out",
    about: "end all sessions of a customer; keys stay",
    method: "POST",
    path: "/admin/v1/accounts/:account/sessions/end",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "reason", value: "TEXT", required: true },
    ],
  },
  {
    words: "second-factor off",
    about: "switch off the second factor of a customer who lost it; be sure who asks for it",
    method: "POST",
    path: "/admin/v1/accounts/:account/second-factor/off",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "reason", value: "TEXT", required: true },
    ],
  },
];

/** Routes for operators: invitations, and what a customer cannot do, or can no longer do, without them. */
export function operatorRoutes(context: AccountContext): OperatorRoute[] {
  const { credentials, services } = context;
  return [
    ...invitationRoutes(context),
    {
      method: "POST",
      path: "/accounts/:account/welcome",
      right: "support",
      handle: reading(newWelcome, async (wanted, { params }) => {
        const account = await credentials.ofAccount(params["account"] ?? "");
        return account ? done(await welcome(context, account, wanted.again)) : unknownAccount();
      }),
    },
    {
      method: "POST",
      path: "/accounts/:account/email",
      right: "support",
      needsProof: true,
      handle: reading(newEmail, async (wanted, { params }) => {
        const before = await credentials.ofAccount(params["account"] ?? "");
        if (!before) return unknownAccount();
        const { accountId } = before;
        if (wanted.to !== before.email) {
          const hadLink = await credentials.hasResetLink(accountId);
          const result = await credentials.changeEmail(accountId, wanted.to);
          if (result === "no_account") return unknownAccount();
          if (result === "email_taken") return emailTaken(wanted.to);
          await tellBoth(context, before, wanted.to, hadLink);
        }
        return done({ id: accountId, email: wanted.to, email_before: before.email });
      }),
    },
    {
      method: "POST",
      path: "/accounts/:account/close",
      right: "support",
      handle: reading(reasoned, async (_, { params }) => {
        const account = await services.accounts.find(params["account"] ?? "");
        if (!account) return unknownAccount();
        const { id, status } = account;
        // First, so that no call and no sign-in begins while the keys are revoked.
        await services.accounts.setStatus(id, "closed");
        const revoked = await revokeAll(context, id);
        await context.sessions.endAll(id);
        const wallet = await services.balances(id);
        const left = wallet && walletJson(wallet);
        if (status !== "closed")
          await context.tellOwnerAfter(id, "closed", left && `${left.balance_vnd} đ`);
        return done({ id, email: account.email, status: "closed", revoked_keys: revoked, ...left });
      }),
    },
    {
      method: "GET",
      path: "/accounts/:account/sessions",
      async handle({ params }, { role }) {
        const account = await credentials.ofAccount(params["account"] ?? "");
        if (!account) return unknownAccount();
        const { accountId, isEmailVerified, passwordHash } = account;
        const sessions = await context.sessions.list(accountId);
        const isShown = roles.allow(role, "customers");
        return done({
          email_verified: isEmailVerified,
          has_password: passwordHash !== null,
          second_factor: (await context.secondFactors.ofAccount(accountId)) !== undefined,
          sessions: sessions.map(({ createdAt, seenAt, remoteAddress, userAgent }) => ({
            created_at: createdAt.toISOString(),
            seen_at: seenAt.toISOString(),
            remote_address: isShown ? remoteAddress : null,
            user_agent: isShown ? userAgent : null,
          })),
        });
      },
    },
    {
      method: "POST",
      right: "support",
      path: "/accounts/:account/sessions/end",
      handle: reading(reasoned, async (_, { params }) => {
        const account = await services.accounts.find(params["account"] ?? "");
        if (!account) return unknownAccount();
        const open = await context.sessions.list(account.id);
        await context.sessions.endAll(account.id);
        return done({ account: account.id, email: account.email, ended: open.length });
      }),
    },
    {
      method: "POST",
      path: "/accounts/:account/second-factor/off",
      right: "support",
      needsProof: true,
      handle: reading(reasoned, async (_, { params }) => {
        const id = params["account"] ?? "";
        const account = await services.accounts.find(id);
        if (!account) return unknownAccount();
        const wasOn = await context.secondFactors.drop(id);
        if (wasOn) await context.tellOwnerAfter(id, "factor-off");
        return done({ account: id, email: account.email, was_on: wasOn });
      }),
    },
  ];
}

/**
 * Mails the first link, unless there is a password, or a valid link and not `again`. `mail`: `queued`, `has_password`, `sent_before`, or
 * `queue_full`, after which the operator sends it again.
 */
async function welcome(
  context: AccountContext,
  account: Credentials,
  again: boolean,
): Promise<{ id: string; email: string; mail: string }> {
  const { credentials, mailer } = context;
  const { accountId: id, email: to, passwordHash } = account;
  const said = (mail: string) => ({ id, email: to, mail });
  if (passwordHash !== null) return said("has_password");
  const isSent = async () => !again && (await credentials.hasResetLink(id));
  if (await isSent()) return said("sent_before");
  const isQueued = mailer.take(async () => {
    // Asked twice, while the first mail waited.
    if (await isSent()) return undefined;
    return context.linkMail("welcome", account, context.languageOf(account));
  });
  return said(isQueued ? "queued" : "queue_full");
}

/**
 * Tells the owner at the address before, unless it was never verified and may be a stranger's, and at the new one, to which a link
 * that was mailed before, and is void, comes again: the one that verifies, or without a password that of the welcome.
 */
async function tellBoth(
  context: AccountContext,
  before: Credentials,
  now: string,
  hadLink: boolean,
): Promise<void> {
  const { accountId, email, isEmailVerified, passwordHash } = before;
  const link = (kind: "welcome" | "verify") =>
    context.mailer.take(() =>
      context.linkMail(kind, { accountId, email: now }, context.languageOf(before)),
    );
  if (passwordHash === null) {
    if (hadLink) link("welcome");
    return;
  }
  for (const address of isEmailVerified ? [email, now] : [now]) {
    await context.tellOwnerAfter(accountId, "email-changed", `${email} → ${now}`, address);
  }
  if (!isEmailVerified) link("verify");
}

function unknownAccount(): Refusal {
  return refuse.notFound("There is no such account. `account list` lists all accounts.", "account");
}

function emailTaken(email: string): Refusal {
  const message =
    "Another account has this email address. Nothing has changed. If both are of one customer, first give that one another " +
    `address: account email --account ${email} --to OTHER`;
  return refuse.conflict(message, { code: "email_taken", param: "to" });
}
