import { type Refusal, refuse } from "../../../core/plugin/index.ts";
import type { Attempt } from "../../sign-in-parts/throttle.ts";
import { stepOf } from "../../sign-in-parts/totp.ts";
import type { AccountContext } from "../account-context.ts";
import type { SecondFactor } from "./store.ts";

const TOTP_CODE = /^\d{6}$/;

/**
 * Refuses a code that is not right, or was used before. `tries` are counted before the check, so that parallel guesses
 * all count.
 */
export async function rightCode(
  context: AccountContext,
  factor: SecondFactor,
  given: string,
  tries: readonly Attempt[],
): Promise<Refusal | undefined> {
  const refusal = await context.throttle.take(...tries);
  if (refusal) return refusal;
  const code = given.replace(/\s/g, "");
  const isRight = TOTP_CODE.test(code)
    ? await useTotpCode(context, factor, code)
    : await context.secondFactors.useRecoveryCode(factor.accountId, code);
  if (!isRight) return wrongCode();
  await context.throttle.giveBack(...tries);
  return undefined;
}

async function useTotpCode(
  { sealer, secondFactors, services }: AccountContext,
  factor: SecondFactor,
  code: string,
): Promise<boolean> {
  const { clock, log } = services;
  const secret = sealer.unseal(factor);
  if (secret === undefined) {
    log.error(
      { account_id: factor.accountId, master_key: factor.sealedBy },
      "cannot unseal a second factor; its owner can sign in with a recovery code only",
    );
    return false;
  }
  const step = stepOf(secret, code, clock.now());
  return step !== undefined && (await secondFactors.useStep(factor.keyId, step));
}

export function wrongCode(): Refusal {
  const message = "The code is wrong or was used before; wait for the next one.";
  return refuse.forbidden(message, { code: "wrong_code", param: "code" });
}
