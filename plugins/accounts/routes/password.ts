import {
  type CustomerRoute,
  done,
  isRefusal,
  type PublicRoute,
  type Refusal,
  readBody,
  refuse,
} from "../../../core/contract/index.ts";
import { forgottenCookie } from "../cookie.ts";
import { busy, type Desk, invalidToken } from "../desk.ts";
import { change, forgotten, reset } from "../input.ts";
import type { Attempt } from "../throttle.ts";

/** A new password for whoever has forgotten theirs, and reads the mails of their address. */
export function forgottenPasswordRoutes(desk: Desk): PublicRoute[] {
  const { credentials, mailer, passwords } = desk;
  return [
    {
      method: "POST",
      path: "/password/forgot",
      async handle(request) {
        const given = readBody(forgotten, request.body);
        if (isRefusal(given)) return given;
        const refusal = await desk.admit(request, ["mail", given.email]);
        if (refusal) return refusal;
        // Whether there is an account is found out behind the answer.
        const isTaken = mailer.take(async () => {
          const account = await credentials.ofEmail(given.email);
          const language = account?.language ?? given.language ?? desk.options.language;
          return account && desk.linkMail("reset", account, language);
        });
        return isTaken ? done({}, 202) : busy();
      },
    },
    {
      method: "POST",
      path: "/password/reset",
      async handle(request) {
        const refusal = await desk.admit(request);
        if (refusal) return refusal;
        const wanted = readBody(reset, request.body);
        if (isRefusal(wanted)) return wanted.param === "token" ? invalidToken() : wanted;
        if (!(await credentials.isResetToken(wanted.token))) return invalidToken();
        const passwordHash = await passwords.hash(wanted.password);
        if (passwordHash === "busy") return busy();
        const accountId = await credentials.reset(wanted.token, passwordHash);
        if (accountId === undefined) return invalidToken();
        tellOwner(desk, accountId);
        return done({}, 200, ["set-cookie", forgottenCookie(desk.isSecure)]);
      },
    },
  ];
}

export function changePasswordRoute(desk: Desk): CustomerRoute {
  const { credentials, passwords, throttle } = desk;
  return {
    method: "POST",
    path: "/password/change",
    async handle(request, { accountId, email, sessionId }) {
      const wanted = readBody(change, request.body);
      if (isRefusal(wanted)) return wanted;
      // A stolen session must not be a way around the limit on guesses.
      const tries: Attempt[] = [
        ["password", `${desk.remoteOf(request)} ${email}`],
        ["account", email],
      ];
      const refusal = await throttle.take(["address", desk.remoteOf(request)], ...tries);
      if (refusal) return refusal;
      const account = await credentials.ofAccount(accountId);
      const checkedHash = account?.passwordHash ?? undefined;
      const isRight = await passwords.check(wanted.current, checkedHash);
      if (isRight === false || checkedHash === undefined) return wrongPassword();
      await throttle.giveBack(...tries);
      const passwordHash = isRight === "busy" ? isRight : await passwords.hash(wanted.password);
      if (passwordHash === "busy") return busy();
      const isChanged = await credentials.change(accountId, checkedHash, passwordHash, sessionId);
      if (!isChanged) return wrongPassword();
      tellOwner(desk, accountId);
      return done({});
    },
  };
}

/** A mail to the owner, who may not be who did it. */
function tellOwner(desk: Desk, accountId: string): void {
  desk.mailer.take(async () => {
    const account = await desk.credentials.ofAccount(accountId);
    if (!account) return undefined;
    const letter = { kind: "changed" } as const;
    return { to: account.email, language: desk.languageOf(account), letter };
  });
}

function wrongPassword(): Refusal {
  return refuse.forbidden("The current password is wrong.", {
    code: "wrong_password",
    param: "current",
  });
}
