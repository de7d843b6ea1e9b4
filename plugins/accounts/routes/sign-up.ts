import {
  done,
  isRefusal,
  newId,
  type PlainRequest,
  type PlainResponse,
  type PublicRoute,
  type Refusal,
  readBody,
  type v,
} from "../../../core/contract/index.ts";
import { busy, type Desk, invalidToken } from "../desk.ts";
import { evenly } from "../evenly.ts";
import { resend, signUp, verification } from "../input.ts";

/** New accounts, and the proof that their e-mail address is their owner's. */
export function signUpRoutes(desk: Desk): PublicRoute[] {
  return [
    {
      method: "POST",
      path: "/sign-up",
      async handle(request) {
        const wanted = readBody(signUp, request.body);
        if (isRefusal(wanted)) return wanted;
        return evenly(() => signUpBy(desk, request, wanted));
      },
    },
    {
      method: "POST",
      path: "/verify",
      async handle(request) {
        const refusal = await desk.admit(request);
        if (refusal) return refusal;
        const given = readBody(verification, request.body);
        if (isRefusal(given)) return given.param === "token" ? invalidToken() : given;
        return (await desk.credentials.verify(given.token)) ? done({}) : invalidToken();
      },
    },
    {
      method: "POST",
      path: "/verification/resend",
      async handle(request) {
        const given = readBody(resend, request.body);
        if (isRefusal(given)) return given;
        const refusal = await desk.admit(request, ["mail", given.email]);
        if (refusal) return refusal;
        // Whether there is an account that waits for it is found out behind the answer.
        const isTaken = desk.mailer.take(async () => {
          const account = await desk.credentials.ofEmail(given.email);
          if (!account || account.passwordHash === null || account.isEmailVerified)
            return undefined;
          return desk.linkMail("verify", account, desk.languageOf(account));
        });
        return isTaken ? done({}, 202) : busy();
      },
    },
  ];
}

/** The same answer and the same work, whether there is an account already: only its owner's mail tells. */
async function signUpBy(
  desk: Desk,
  request: PlainRequest,
  wanted: v.InferOutput<typeof signUp>,
): Promise<PlainResponse | Refusal> {
  const { credentials, services, mailer } = desk;
  const { email, password, language = desk.options.language } = wanted;
  const refusal = await desk.admit(request, ["signUp", desk.remoteOf(request)], ["mail", email]);
  if (refusal) return refusal;
  if (mailer.isFull) return busy();
  const passwordHash = await desk.passwords.hash(password);
  if (passwordHash === "busy") return busy();
  const accountId = newId(services.clock.now());
  const created = await services.accounts.create({ id: accountId, email });
  if (created === "created") {
    await credentials.add(accountId, passwordHash, language);
    mailer.take(() => desk.linkMail("verify", { accountId, email }, language));
  } else {
    mailer.take(async () => {
      const account = await credentials.ofEmail(email);
      return account && desk.linkMail("taken", account, account.language ?? language);
    });
  }
  return done({}, 202);
}
