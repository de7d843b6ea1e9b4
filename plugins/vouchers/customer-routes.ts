import {
  done,
  formatVnd,
  isRefusal,
  mapping,
  type PlainRequest,
  type PlainResponse,
  type Refusal,
  readBody,
  refuse,
  type Services,
  text,
  v,
} from "../../core/plugin/index.ts";
import { voucherHash } from "./code.ts";
import type { Settings } from "./options.ts";
import type { Redeeming } from "./redeeming.ts";

const CODE = "the code of a voucher";

const redemption = mapping({ code: v.pipe(text(CODE), v.maxLength(100, CODE)) });

/** Returns what redeems a code for an account. */
export function redemptionOf(services: Services, settings: Settings, redeeming: Redeeming) {
  return async (
    { body, addressBlock }: PlainRequest,
    { accountId }: { readonly accountId: string },
  ): Promise<PlainResponse | Refusal> => {
    const wanted = readBody(redemption, body);
    if (isRefusal(wanted)) return wanted;
    const { account_attempts_per_minute: byAccount, address_attempts_per_minute: byAddress } =
      settings;
    const tooMany =
      (await attempt(`account:${accountId}`, byAccount)) ??
      (await attempt(`address:${addressBlock}`, byAddress));
    if (tooMany) return tooMany;
    const hash = voucherHash(wanted.code);
    if (!hash) return invalid();
    const result = await redeeming.redeem(hash, accountId);
    switch (result.kind) {
      case "redeemed": {
        const wallet = await services.balances(accountId);
        return done({
          amount_vnd: formatVnd(result.amountMicroVnd),
          balance_vnd: formatVnd(wallet?.balanceMicroVnd ?? 0),
          applied: result.applied,
        });
      }
      case "invalid":
        return invalid();
      case "once":
        return refuse.conflict(
          "You have redeemed a voucher of this offer already; each customer gets one.",
          { code: "voucher_once", param: "code" },
        );
      case "refused":
        return refuse.conflict(
          "The wallet cannot take this amount now. The voucher stays valid; contact support.",
          { code: "voucher_not_credited", param: "code" },
        );
    }
  };

  /** Codes cannot be guessed in any time; the limit keeps guesses from costing the database a query each. */
  async function attempt(who: string, perMinute: number): Promise<Refusal | undefined> {
    const rate = await services.rateLimiter.takeCall(`voucher:${who}`, perMinute, perMinute);
    if (rate.allowed) return undefined;
    const waitS = Math.ceil(rate.retryMs / 1_000);
    return refuse.rateLimited(`Too many attempts; try again in ${waitS} seconds.`, {
      code: "too_many_attempts",
      headers: ["retry-after", String(waitS)],
    });
  }
}

/** The same for codes that are unknown, not valid yet, ended, cancelled or used by others. */
function invalid(): Refusal {
  return refuse.notFound(
    "This code is not valid: check it for typing errors. It may also have ended, or be used up.",
    { code: "voucher_invalid", param: "code" },
  );
}
