import {
  type Customer,
  type CustomerRoute,
  done,
  isId,
  type PlainRequest,
  type PlainResponse,
  type PublicRoute,
  type Refusal,
  reading,
  refuse,
} from "../../../core/plugin/index.ts";
import { busy, codeRequired } from "../../sign-in-parts/refusals.ts";
import { csrfTokenOf } from "../../sign-in-parts/secret.ts";
import type { Attempt } from "../../sign-in-parts/throttle.ts";
import type { AccountContext } from "../account-context.ts";
import { cookieOf, forgottenCookie } from "../cookie.ts";
import type { Credentials } from "../credentials.ts";
import { signIn } from "../input.ts";
import { rightCode } from "../second-factor/right-code.ts";
import { agentOf, notActive } from "../sessions.ts";
import { codeTriesOf, triesOf } from "../tries.ts";
import { accountBody } from "./me.ts";

/**
 * Opens a session for a password if the account's address is verified. Unverified accounts get none: otherwise a
 * stranger could sign up with any address and learn by signing in whether it had an account before.
 */
export function signInRoute(context: AccountContext): PublicRoute {
  const { credentials, passwords, throttle } = context;
  return {
    method: "POST",
    path: "/sign-in",
    handle: reading(signIn, async (given, request) => {
      const early = await context.admit(request);
      if (early) return early;
      const account = await credentials.ofEmail(given.email);
      const { tries, isKnownDevice } = await triesOf(context, request, given.email, account);
      const refusal = await throttle.take(...tries);
      if (refusal) return refusal;
      const passwordHash = account?.passwordHash ?? undefined;
      const isRight = await passwords.check(given.password, passwordHash);
      if (isRight === "busy") {
        await throttle.giveBack(...tries);
        return busy();
      }
      if (!isRight || !account || passwordHash === undefined) return wrong();
      if (!account.isEmailVerified) {
        remind(context, account);
        return wrong();
      }
      await throttle.giveBack(...tries);
      const checked = { account, passwordHash, tries, isKnownDevice };
      return signedIn(context, request, checked, given.code);
    }),
  };
}

/** A right password, and the limits that counted its check. */
interface Checked {
  readonly account: Credentials;
  readonly passwordHash: string;
  readonly tries: readonly Attempt[];
  readonly isKnownDevice: boolean;
}

/**
 * Opens a session after a right password, and after the right code if the account has a second factor. Remembers a
 * browser that is new to the account.
 */
export async function signedIn(
  context: AccountContext,
  request: PlainRequest,
  { account, passwordHash, tries, isKnownDevice }: Checked,
  code: string | undefined,
): Promise<PlainResponse | Refusal> {
  const { sessions, devices, secondFactors, isSecure } = context;
  if (account.status !== "active") return notActive(account.status);
  const { accountId } = account;
  const factor = await secondFactors.ofAccount(accountId);
  if (factor) {
    if (code === undefined) return codeRequired();
    const refusal = await rightCode(context, factor, code, codeTriesOf(tries));
    if (refusal) return refusal;
  }
  const token = await sessions.open(accountId, passwordHash, factor?.keyId ?? null, request);
  if (token === undefined) return wrong();
  const csrfToken = csrfTokenOf(token);
  const body = { account: accountBody(account, csrfToken), csrf_token: csrfToken };
  const cookies = ["set-cookie", cookieOf(token, sessions.maxAgeS, isSecure)];
  if (!isKnownDevice) {
    const browser = `${request.remoteAddress}, ${agentOf(request)}`;
    // Before it is remembered: after a crash in between, the next sign-in from it writes the mail again.
    if (await devices.isUsed(accountId)) await context.tellOwner(accountId, "new-browser", browser);
    cookies.push("set-cookie", await devices.remember(request, accountId, isSecure));
  }
  return done(body, 200, cookies);
}

/** The route that ends this session. Public, as a suspended customer may leave too. */
export function signOutRoute(context: AccountContext): PublicRoute {
  return {
    method: "POST",
    path: "/sign-out",
    async handle(request) {
      const refusal = await context.sessions.leave(request, context.publicUrl);
      return refusal ?? done({}, 200, ["set-cookie", forgottenCookie(context.isSecure)]);
    },
  };
}

/** Routes to list sessions, and to end any one, or all. */
export function sessionRoutes(context: AccountContext): CustomerRoute[] {
  const { sessions } = context;
  const forget = () => ["set-cookie", forgottenCookie(context.isSecure)];
  return [
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

/** Sends the link again. Has its own limit: using up the limit of other mails would reveal that the account exists. */
function remind(context: AccountContext, account: Credentials): void {
  context.mailer.take(async () => {
    const refusal = await context.throttle.take(["reminder", account.email]);
    return refusal ? undefined : context.linkMail("verify", account, context.languageOf(account));
  });
}

/**
 * One reply for a wrong password, no password, no account and an unverified address, so that the reply reveals nothing.
 */
function wrong(): Refusal {
  const message = "Wrong email or password, or your email is not verified yet; check your inbox.";
  return refuse.unauthenticated(message, { code: "wrong_credentials" });
}
