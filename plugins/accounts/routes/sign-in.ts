import {
  accountSuspended,
  type Customer,
  type CustomerRoute,
  done,
  isId,
  isRefusal,
  type PublicRoute,
  type Refusal,
  readBody,
  refuse,
} from "../../../core/contract/index.ts";
import { cookieOf, forgottenCookie } from "../cookie.ts";
import type { Credentials } from "../credentials.ts";
import { busy, type Desk } from "../desk.ts";
import { signIn } from "../input.ts";
import { csrfTokenOf } from "../secret.ts";
import type { Attempt } from "../throttle.ts";
import { accountBody } from "./me.ts";

/**
 * A session for whoever knows the password of an account whose address is verified. Before that there is none:
 * a stranger could sign up with any address, and learn by signing in whether it had an account before.
 */
export function signInRoute(desk: Desk): PublicRoute {
  const { credentials, passwords, sessions, throttle } = desk;
  return {
    method: "POST",
    path: "/sign-in",
    async handle(request) {
      const given = readBody(signIn, request.body);
      if (isRefusal(given)) return given;
      // Taken before the password is looked at, so that many tries at once count as many.
      const tries: Attempt[] = [
        ["password", `${desk.remoteOf(request)} ${given.email}`],
        ["account", given.email],
      ];
      const refusal = await desk.admit(request, ...tries);
      if (refusal) return refusal;
      const account = await credentials.ofEmail(given.email);
      const passwordHash = account?.passwordHash ?? undefined;
      const isRight = await passwords.check(given.password, passwordHash);
      if (isRight === "busy") {
        await throttle.giveBack(...tries);
        return busy();
      }
      if (!isRight || !account || passwordHash === undefined) return wrong();
      if (!account.isEmailVerified) {
        remind(desk, account);
        return wrong();
      }
      await throttle.giveBack(...tries);
      if (account.status !== "active") return accountSuspended("account_suspended");
      const token = await sessions.open(account.accountId, passwordHash, request);
      if (token === undefined) return wrong();
      const csrfToken = csrfTokenOf(token);
      const body = { account: accountBody(account, csrfToken), csrf_token: csrfToken };
      return done(body, 200, ["set-cookie", cookieOf(token, sessions.maxAgeS, desk.isSecure)]);
    },
  };
}

/** Ways out of this session, of all of them, and of any one. */
export function sessionRoutes(desk: Desk): CustomerRoute[] {
  const { sessions } = desk;
  const forget = () => ["set-cookie", forgottenCookie(desk.isSecure)];
  return [
    {
      method: "POST",
      path: "/sign-out",
      async handle(_, { accountId, sessionId }) {
        await sessions.end(accountId, sessionId);
        return done({}, 200, forget());
      },
    },
    {
      method: "POST",
      path: "/sign-out-everywhere",
      async handle(_, { accountId }) {
        await sessions.endAll(accountId);
        return done({}, 200, forget());
      },
    },
    {
      method: "GET",
      path: "/sessions",
      async handle(_, customer) {
        return done({ data: await listOf(customer) });
      },
    },
    {
      method: "DELETE",
      path: "/sessions/:session",
      async handle({ params }, { accountId }) {
        const id = params["session"] ?? "";
        if (isId(id) && (await sessions.end(accountId, id))) return done({ id });
        return refuse.notFound("You have no such session.", "session");
      },
    },
  ];

  async function listOf({ accountId, sessionId }: Customer): Promise<object[]> {
    return (await sessions.list(accountId)).map((session) => ({
      id: session.id,
      created_at: session.createdAt.toISOString(),
      last_seen_at: session.seenAt.toISOString(),
      remote_address: session.remoteAddress,
      user_agent: session.userAgent,
      current: session.id === sessionId,
    }));
  }
}

/** Sends the link again. By a limit of its own: whoever sees that of other mails move would learn from it. */
function remind(desk: Desk, account: Credentials): void {
  desk.mailer.take(async () => {
    const refusal = await desk.throttle.take(["reminder", account.email]);
    return refusal ? undefined : desk.linkMail("verify", account, desk.languageOf(account));
  });
}

/** One answer for a wrong password, no password, no account, and an address that is not verified. */
function wrong(): Refusal {
  const message =
    "The e-mail address or the password is wrong, or the address is not verified yet: look for our mail.";
  return refuse.unauthenticated(message, { code: "wrong_credentials" });
}
