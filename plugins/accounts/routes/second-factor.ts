import {
  type Customer,
  type CustomerRoute,
  done,
  isRefusal,
  type PlainRequest,
  type Refusal,
  readBody,
  reading,
  refuse,
} from "../../../core/plugin/index.ts";
import { qrSvg } from "../../page-parts/qr.ts";
import { newRecoveryCodes } from "../../sign-in-parts/recovery-codes.ts";
import { noSealer, wrongCode } from "../../sign-in-parts/refusals.ts";
import { newTotpSecret, stepOf, totpUri } from "../../sign-in-parts/totp.ts";
import type { AccountContext } from "../account-context.ts";
import { factorChange, firstCode, newFactor } from "../input.ts";
import { rightPassword } from "../own-password.ts";
import { rightCode } from "../second-factor/right-code.ts";
import type { SecondFactor } from "../second-factor/store.ts";
import { ownCodeTries } from "../tries.ts";

/**
 * Routes with which customers switch their second factor on and off. Every change asks for the password again, and for
 * a code if the second factor is on: a stolen session can neither lock its owner out nor remove the protection.
 */
export function secondFactorRoutes(context: AccountContext): CustomerRoute[] {
  const { secondFactors, sealer, throttle, services } = context;

  /** Checks the password and a code. Returns the second factor. */
  async function proven(
    request: PlainRequest,
    customer: Customer,
  ): Promise<SecondFactor | Refusal> {
    const given = readBody(factorChange, request.body);
    if (isRefusal(given)) return given;
    const hash = await rightPassword(context, request, customer, given.current);
    if (isRefusal(hash)) return hash;
    const factor = await secondFactors.ofAccount(customer.accountId);
    if (!factor) return isOff();
    const tries = await ownCodeTries(context, request, customer);
    return (await rightCode(context, factor, given.code, tries)) ?? factor;
  }

  return [
    {
      method: "GET",
      path: "/second-factor",
      async handle(_, { accountId }) {
        const factor = await secondFactors.ofAccount(accountId);
        return done({
          available: sealer.newest !== undefined,
          enabled_at: factor?.confirmedAt?.toISOString() ?? null,
          recovery_codes_left: factor ? await secondFactors.recoveryCodesLeft(accountId) : 0,
        });
      },
    },
    {
      method: "POST",
      path: "/second-factor",
      handle: reading(newFactor, async (given, request, customer) => {
        if (sealer.newest === undefined) return noSealer();
        const hash = await rightPassword(context, request, customer, given.current);
        if (isRefusal(hash)) return hash;
        const { accountId, email } = customer;
        const secret = newTotpSecret();
        const id = secondFactors.newId();
        const isBegun = await secondFactors.begin(
          id,
          accountId,
          sealer.seal(id, accountId, secret),
        );
        if (!isBegun) return isOn();
        const uri = totpUri(secret, new URL(context.publicUrl).hostname, email);
        return done({ secret, uri, qr_svg: await qrSvg(uri) }, 201);
      }),
    },
    {
      method: "POST",
      path: "/second-factor/confirm",
      handle: reading(firstCode, async (given, request, customer) => {
        const { accountId, sessionId } = customer;
        const factor = await secondFactors.pendingOf(accountId);
        const secret = factor && sealer.unseal(factor);
        if (!factor || secret === undefined) return nothingToConfirm();
        const tries = await ownCodeTries(context, request, customer);
        const refusal = await throttle.take(...tries);
        if (refusal) return refusal;
        const step = stepOf(secret, given.code, services.clock.now());
        if (step === undefined) return wrongCode();
        await throttle.giveBack(...tries);
        const codes = newRecoveryCodes();
        if (!(await secondFactors.confirm(factor, step, codes, sessionId))) {
          return nothingToConfirm();
        }
        await context.tellOwnerAfter(accountId, "factor-on");
        return done({ recovery_codes: codes });
      }),
    },
    {
      method: "POST",
      path: "/second-factor/recovery-codes",
      async handle(request, customer) {
        const factor = await proven(request, customer);
        if (isRefusal(factor)) return factor;
        const codes = newRecoveryCodes();
        await secondFactors.replaceRecoveryCodes(customer.accountId, codes);
        return done({ recovery_codes: codes });
      },
    },
    {
      method: "POST",
      path: "/second-factor/off",
      async handle(request, customer) {
        const factor = await proven(request, customer);
        if (isRefusal(factor)) return factor;
        await secondFactors.drop(customer.accountId);
        await context.tellOwnerAfter(customer.accountId, "factor-off");
        return done({});
      },
    },
  ];
}

function isOn(): Refusal {
  return refuse.conflict("The second factor is on already.", { code: "second_factor_on" });
}

function isOff(): Refusal {
  return refuse.conflict("The second factor is off.", { code: "second_factor_off" });
}

function nothingToConfirm(): Refusal {
  const message = "No second factor waits for a first code; begin again.";
  return refuse.conflict(message, { code: "nothing_to_confirm" });
}
