import {
  done,
  isRefusal,
  newId,
  type PlainRequest,
  type PlainResponse,
  type PublicRoute,
  type Refusal,
  readBody,
  reading,
  refuse,
  type v,
} from "../../../core/plugin/index.ts";
import { busy } from "../../sign-in-parts/refusals.ts";
import { weakPassword } from "../../sign-in-parts/weak-password.ts";
import { type AccountContext, invalidToken } from "../account-context.ts";
import { agreementsOf } from "../agreements.ts";
import { evenly } from "../evenly.ts";
import { resend, signUp, verification } from "../input.ts";
import type { Options } from "../options.ts";
import { triesOf } from "../tries.ts";
import { signedIn } from "./sign-in.ts";

/** Routes to sign up, and to verify the email address. */
export function signUpRoutes(context: AccountContext): PublicRoute[] {
  return [
    {
      method: "POST",
      path: "/sign-up",
      handle: reading(signUp, async (wanted, request) => {
        return evenly(() => signUpBy(context, request, wanted));
      }),
    },
    {
      method: "POST",
      path: "/verify",
      async handle(request) {
        const refusal = await context.admit(request);
        if (refusal) return refusal;
        const given = readBody(verification, request.body);
        if (isRefusal(given)) return given.param === "token" ? invalidToken() : given;
        return verify(context, request, given);
      },
    },
    {
      method: "POST",
      path: "/verification/resend",
      handle: reading(resend, async (given, request) => {
        const refusal = await context.admit(request, ["mail", given.email]);
        if (refusal) return refusal;
        // Look up the account after the reply, so that the reply does not reveal whether it exists.
        const isTaken = context.mailer.take(async () => {
          const account = await context.credentials.ofEmail(given.email);
          if (!account || account.passwordHash === null || account.isEmailVerified)
            return undefined;
          return context.linkMail("verify", account, context.languageOf(account));
        });
        return isTaken ? done({}, 202) : busy();
      }),
    },
  ];
}

/**
 * Verifies an address and signs in. Asks for the password of the sign-up too: the link proves that the address belongs
 * to who opens it, the password that the same person signed up. Otherwise a stranger who signs up with someone's
 * address would own the account as soon as that person opens the link.
 */
async function verify(
  context: AccountContext,
  request: PlainRequest,
  { token, password, code }: v.InferOutput<typeof verification>,
): Promise<PlainResponse | Refusal> {
  const { credentials, passwords, throttle } = context;
  const account = await credentials.ofLink(token, "verify");
  const passwordHash = account?.passwordHash ?? undefined;
  if (!account || passwordHash === undefined) return invalidToken();
  const { tries, isKnownDevice } = await triesOf(context, request, account.email, account);
  const refusal = await throttle.take(...tries);
  if (refusal) return refusal;
  const isRight = await passwords.check(password, passwordHash);
  if (isRight !== false) await throttle.giveBack(...tries);
  if (isRight === "busy") return busy();
  if (!isRight) return notTheSignUp();
  if (!(await credentials.verify(token))) return invalidToken();
  const verified = { ...account, isEmailVerified: true };
  const checked = { account: verified, passwordHash, tries, isKnownDevice };
  return signedIn(context, request, checked, code);
}

function notTheSignUp(): Refusal {
  const message =
    "This is not the password that was chosen at the sign-up. If you did not sign up, set a password of your own by POST /account/v1/password/forgot.";
  return refuse.forbidden(message, { code: "wrong_sign_up_password", param: "password" });
}

/** Signs up. Takes the same work and sends the same reply if the account exists: only the mail differs. */
async function signUpBy(
  context: AccountContext,
  request: PlainRequest,
  wanted: v.InferOutput<typeof signUp>,
): Promise<PlainResponse | Refusal> {
  const { credentials, services, mailer } = context;
  const { email, password, language = context.options.language } = wanted;
  const closed = closedTo(email, context.options);
  if (closed) return closed;
  const isAsked = Object.keys(agreementsOf(context.options)).length > 0;
  if (isAsked && !wanted.agreed) return notAgreed();
  const weak = weakPassword(password, email);
  if (weak) return weak;
  const isInvited = context.options.sign_up === "invited";
  // The uses of an invitation are the limit of its sign-ups: a class has one address.
  const refusal = isInvited
    ? ((await invited(context, request, wanted.code)) ??
      (await context.throttle.take(["mail", email])))
    : await context.admit(request, ["signUp", request.addressBlock], ["mail", email]);
  if (refusal) return refusal;
  if (mailer.isFull) return busy();
  const passwordHash = await context.passwords.hash(password);
  if (passwordHash === "busy") return busy();
  const accountId = newId(services.clock.now());
  const created = await credentials.signUp({
    ...{ accountId, email, passwordHash, language, hasAgreed: isAsked },
    invitation: isInvited ? wanted.code : undefined,
  });
  if (created === "not_invited") return notInvited();
  if (created === "created") {
    mailer.take(() => context.linkMail("verify", { accountId, email }, language));
  } else {
    mailer.take(async () => {
      const account = await credentials.ofEmail(email);
      return account && context.linkMail("taken", account, account.language ?? language);
    });
  }
  return done({}, 202);
}

/** Depends on the address alone, so that it does not reveal which accounts exist. */
function closedTo(email: string, { sign_up, sign_up_domains }: Options): Refusal | undefined {
  if (sign_up === "closed") {
    const message = "Sign-ups are closed. Ask the operator for an account.";
    return refuse.forbidden(message, { code: "sign_up_closed" });
  }
  const domain = email.slice(email.lastIndexOf("@") + 1);
  if (!sign_up_domains || sign_up_domains.includes(domain)) return undefined;
  const message = "Only addresses of certain domains can sign up. Use one of your organisation.";
  return refuse.forbidden(message, { code: "email_domain_refused", param: "email" });
}

/** Refuses a sign-up without a valid code, before it counts as a mail to the address. Wrong codes are limited. */
async function invited(
  context: AccountContext,
  request: PlainRequest,
  code: string | undefined,
): Promise<Refusal | undefined> {
  if (code === undefined) {
    const message =
      "Sign-ups need an invitation. Send its code as `code`, or ask the operator for one.";
    return refuse.forbidden(message, { code: "invitation_required", param: "code" });
  }
  const attempt = ["invitation", request.addressBlock] as const;
  const refusal = await context.admit(request, attempt);
  if (refusal) return refusal;
  if (!(await context.invitations.accepts(code))) return notInvited();
  await context.throttle.giveBack(attempt);
  return undefined;
}

function notInvited(): Refusal {
  const message =
    "This invitation does not exist, has ended or is used up. If you signed up with it before, check your inbox; else ask the operator for another one.";
  return refuse.forbidden(message, { code: "wrong_invitation", param: "code" });
}

function notAgreed(): Refusal {
  const message = "Send `agreed`: true, if you agree to the terms and the privacy policy.";
  return refuse.badRequest(message, { code: "agreement_required", param: "agreed" });
}
