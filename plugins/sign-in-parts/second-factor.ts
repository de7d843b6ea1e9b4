import type { Refusal } from "../../core/plugin/index.ts";
import { wrongCode } from "./refusals.ts";
import type { Attempt, Throttle } from "./throttle.ts";
import { stepOf } from "./totp.ts";

const TOTP_CODE = /^\d{6}$/;

/** A second factor whose codes count once each. */
interface SecondFactor {
  /** Returns the secret; undefined if it cannot be unsealed: then only recovery codes are right. */
  secret(): string | undefined;
  /** Uses up the code of a time step, and those before it. Returns false if it was used already. */
  useStep(step: number): Promise<boolean>;
  /** Uses up a recovery code. Returns false if there is no such code. */
  useRecoveryCode(code: string): Promise<boolean>;
}

/**
 * Refuses a code that is not right, or was used before. `tries` are counted before the check, so that parallel guesses
 * all count.
 */
export async function checkCode(
  throttle: Throttle,
  tries: readonly Attempt[],
  code: string,
  nowMs: number,
  factor: SecondFactor,
): Promise<Refusal | undefined> {
  const refusal = await throttle.take(...tries);
  if (refusal) return refusal;
  const isRight = TOTP_CODE.test(code)
    ? await isRightTotp(code, nowMs, factor)
    : await factor.useRecoveryCode(code);
  if (!isRight) return wrongCode();
  await throttle.giveBack(...tries);
  return undefined;
}

async function isRightTotp(code: string, nowMs: number, factor: SecondFactor): Promise<boolean> {
  const secret = factor.secret();
  const step = secret === undefined ? undefined : stepOf(secret, code, nowMs);
  return step !== undefined && factor.useStep(step);
}
