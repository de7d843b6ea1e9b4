import { formatVnd, MICRO_VND_PER_VND } from "../catalogue/amount.ts";
import { matching, v } from "../process/options.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { AskedMovement } from "./operator.ts";
import type { Services } from "./services.ts";

/** The field of a request to move money, above which the one who sends it wants to be asked first. */
const FIELD = "confirm_above_vnd";

/** For routes that move money: they refuse a large amount until an operator has confirmed it. */
export const confirmation = {
  /** The schema of the field `confirm_above_vnd`: whole đ, read as µđ; undefined if the sender is not to be asked. */
  bound: v.optional(
    v.pipe(
      matching(/^\d{1,10}$/, "a whole number of đ"),
      v.transform((digits) => BigInt(digits) * BigInt(MICRO_VND_PER_VND)),
    ),
  ),

  /**
   * Returns a refusal that asks for the movement, with its account and balance, if it exceeds the bound. Then one if it
   * needs a second person; else undefined. Call it right before each movement.
   */
  async needed(
    services: Pick<Services, "accounts" | "balances" | "operators">,
    movement: AskedMovement,
    boundMicroVnd: bigint | undefined,
  ): Promise<Refusal | undefined> {
    const asked = await questionAbove(services, movement, boundMicroVnd);
    return asked ?? services.operators.current.approval(movement);
  },

  /** Returns the refusal that asks whether to do it: the request is sent again, without the bound, to say yes. */
  question: (text: string): Refusal =>
    refuse.conflict(text, { code: "confirmation_needed", param: FIELD }),

  /** Formats an amount in µđ for a question, not for a command: with commas between thousands. */
  amount: (amountMicroVnd: bigint): string =>
    formatVnd(amountMicroVnd).replace(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, ","),
};

async function questionAbove(
  { accounts, balances }: Pick<Services, "accounts" | "balances">,
  { accountId, amountMicroVnd }: AskedMovement,
  boundMicroVnd: bigint | undefined,
): Promise<Refusal | undefined> {
  const size = amountMicroVnd < 0n ? -amountMicroVnd : amountMicroVnd;
  if (accountId === null || boundMicroVnd === undefined || size <= boundMicroVnd) return undefined;
  const [account, wallet] = await Promise.all([accounts.find(accountId), balances(accountId)]);
  if (!account || !wallet) return undefined;
  const amount = confirmation.amount(size);
  const what = amountMicroVnd < 0n ? `Take ${amount} đ from` : `Credit ${amount} đ to`;
  const balance = confirmation.amount(BigInt(wallet.balanceMicroVnd));
  return confirmation.question(`${what} ${account.email}, whose balance is ${balance} đ?`);
}
