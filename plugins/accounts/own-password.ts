import { type Customer, type PlainRequest, type Refusal, refuse } from "../../core/plugin/index.ts";
import { busy } from "../sign-in-parts/refusals.ts";
import type { AccountContext } from "./account-context.ts";
import { triesOf } from "./tries.ts";

/**
 * Checks the password of a signed-in customer and returns its hash. The limits of sign-in apply here too, so that a
 * stolen session cannot guess the password.
 */
export async function rightPassword(
  context: AccountContext,
  request: PlainRequest,
  { accountId, email }: Customer,
  given: string,
): Promise<string | Refusal> {
  const { credentials, passwords, throttle } = context;
  const account = await credentials.ofAccount(accountId);
  const { tries } = await triesOf(context, request, email, account);
  const refusal = await throttle.take(["address", request.addressBlock], ...tries);
  if (refusal) return refusal;
  const checkedHash = account?.passwordHash ?? undefined;
  const isRight = await passwords.check(given, checkedHash);
  if (isRight === false || checkedHash === undefined) return wrongPassword();
  await throttle.giveBack(...tries);
  return isRight === "busy" ? busy() : checkedHash;
}

export function wrongPassword(): Refusal {
  return refuse.forbidden("The current password is wrong.", {
    code: "wrong_password",
    param: "current",
  });
}
