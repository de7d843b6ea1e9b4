import {
  type Customer,
  type CustomerRoute,
  done,
  isRefusal,
  type Refusal,
  reading,
  refuse,
} from "../../../core/plugin/index.ts";
import type { AccountContext } from "../account-context.ts";
import { proof } from "../input.ts";
import { rightPassword } from "../own-password.ts";
import { rightCode } from "../second-factor/right-code.ts";
import { ownCodeTries } from "../tries.ts";

/** The route with which customers give their password again, or a code if the second factor is on. */
export function proofRoute(context: AccountContext): CustomerRoute {
  return {
    method: "POST",
    path: "/proof",
    handle: reading(proof, async (given, request, customer) => {
      const factor = await context.secondFactors.ofAccount(customer.accountId);
      if (factor) {
        if (given.code === undefined) return codeRequired();
        const tries = await ownCodeTries(context, request, customer);
        const refusal = await rightCode(context, factor, given.code, tries);
        if (refusal) return refusal;
      } else {
        if (given.current === undefined) return passwordRequired();
        const hash = await rightPassword(context, request, customer, given.current);
        if (isRefusal(hash)) return hash;
      }
      await context.sessions.prove(customer.sessionId);
      return done({});
    }),
  };
}

/**
 * Refuses to show or make a key unless the password or a code was given on this session lately: a stolen session alone
 * gets no key.
 */
export async function unproven(
  { sessions, secondFactors }: AccountContext,
  { accountId, member, sessionId }: Customer,
): Promise<Refusal | undefined> {
  if (await sessions.isProven(sessionId)) return undefined;
  return (await secondFactors.ofAccount(member?.ownAccountId ?? accountId))
    ? codeRequired()
    : passwordRequired();
}

function passwordRequired(): Refusal {
  const message = "Send your password as `current` to POST /account/v1/proof first.";
  return refuse.forbidden(message, { code: "password_required", param: "current" });
}

function codeRequired(): Refusal {
  const message = "Send a code from your authenticator app to POST /account/v1/proof first.";
  return refuse.forbidden(message, { code: "code_required", param: "code" });
}
