import { formatVnd } from "../catalogue/amount.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Correction } from "./ledger/corrections.ts";

/** Returns a correction as operators see it; a refusal that says what is possible, if it was not made. `param` names its cause. */
export function correctionJson(correction: Correction, param: string): object | Refusal {
  switch (correction.kind) {
    case "corrected":
      return {
        account: correction.accountId,
        amount_vnd: formatVnd(correction.amountMicroVnd),
        total_vnd: formatVnd(correction.totalMicroVnd),
        left_vnd: formatVnd(correction.leftMicroVnd),
        ...(correction.bonusMicroVnd > 0n && { bonus_vnd: formatVnd(correction.bonusMicroVnd) }),
        applied: correction.amountMicroVnd > 0n,
      };
    case "unknown":
      return refuse.notFound(
        "The ledger has no such top-up or call. A call may take seconds to get there; `ledger` lists the top-ups of an account.",
        param,
      );
    case "too_much":
      return refuse.conflict(
        `It was only ${formatVnd(correction.causeMicroVnd)} đ in all. Nothing has changed; use at most that.`,
        { code: "above_cause", param: "amount_vnd" },
      );
    case "more_before":
      return refuse.conflict(
        `${formatVnd(correction.totalMicroVnd)} đ of it were corrected before. Nothing has changed; the amount is that of ` +
          "all corrections: use at least that.",
        { code: "corrected_before", param: "amount_vnd" },
      );
    case "short":
      return refuse.conflict(
        correction.availableMicroVnd === 0n
          ? "The wallet has nothing available to take. Nothing has changed; try again after a top-up."
          : `The wallet has only ${formatVnd(correction.availableMicroVnd)} đ available. Nothing has changed; ` +
              "--as-much-as-there-is takes that.",
        { code: "below_zero", param: "amount_vnd" },
      );
    case "refused":
      return correction.refusal;
    case "out_of_range":
      return refuse.conflict("The balance would exceed the most that a wallet can hold.", {
        code: "out_of_range",
      });
  }
}
