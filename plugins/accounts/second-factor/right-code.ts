import type { Refusal } from "../../../core/plugin/index.ts";
import { checkCode } from "../../sign-in-parts/second-factor.ts";
import type { Attempt } from "../../sign-in-parts/throttle.ts";
import type { AccountContext } from "../account-context.ts";
import type { SecondFactor } from "./store.ts";

/** Refuses a code that is not right, or was used before. */
export function rightCode(
  context: AccountContext,
  factor: SecondFactor,
  code: string,
  tries: readonly Attempt[],
): Promise<Refusal | undefined> {
  const { sealer, secondFactors, services, throttle } = context;
  return checkCode(throttle, tries, code, services.clock.now(), {
    secret() {
      const secret = sealer.unseal(factor);
      if (secret !== undefined) return secret;
      services.log.error(
        { account_id: factor.accountId, master_key: factor.sealedBy },
        "cannot unseal a second factor; its owner can sign in with a recovery code only",
      );
      return undefined;
    },
    useStep: (step) => secondFactors.useStep(factor.keyId, step),
    useRecoveryCode: (given) => secondFactors.useRecoveryCode(factor.accountId, given),
  });
}
