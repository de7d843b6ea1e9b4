import type { Customer, PlainRequest } from "../../core/plugin/index.ts";
import type { Attempt } from "../sign-in-parts/throttle.ts";
import type { AccountContext } from "./account-context.ts";
import type { Credentials } from "./credentials.ts";

/**
 * The limits of a password that is tried, counted before it is checked, so that parallel guesses all count. A browser
 * in which the account has signed in before has a limit of its own: guesses of strangers do not lock its owner out.
 */
export async function triesOf(
  context: AccountContext,
  request: PlainRequest,
  email: string,
  account: Credentials | undefined,
): Promise<{ readonly tries: Attempt[]; readonly isKnownDevice: boolean }> {
  const device = await context.devices.known(request, account?.accountId, context.isSecure);
  if (device !== undefined)
    return { tries: [["device", `${device} ${email}`]], isKnownDevice: true };
  const tries: Attempt[] = [
    ["password", `${request.addressBlock} ${email}`],
    ["account", email],
  ];
  return { tries, isKnownDevice: false };
}

/**
 * The limits for codes that are tried after a right password: those of passwords, counted separately, and fewer in
 * total. Known browsers have such a total too, apart from strangers: with the mailbox of an account anyone can make some.
 */
export function codeTriesOf(passwordTries: readonly Attempt[]): Attempt[] {
  return passwordTries.flatMap(([what, subject]): Attempt[] => {
    if (what === "account") return [["code", subject]];
    const email = subject.slice(subject.indexOf(" ") + 1);
    const total: Attempt[] = what === "device" ? [["code", `devices ${email}`]] : [];
    return [[what, `code ${subject}`], ...total];
  });
}

/** The limits for codes that a signed-in customer tries. */
export async function ownCodeTries(
  context: AccountContext,
  request: PlainRequest,
  { accountId, email }: Customer,
): Promise<Attempt[]> {
  const account = await context.credentials.ofAccount(accountId);
  return codeTriesOf((await triesOf(context, request, email, account)).tries);
}
