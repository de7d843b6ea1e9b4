import type { Database } from "../../database/database.ts";
import { isId } from "../../process/id.ts";
import type { Refusal } from "../../wire/refusal.ts";
import type { Wallets } from "../wallet.ts";

/** Prefix of the references of bank transfers in the ledger; the transfer's id follows. */
export const TRANSFER_REFERENCE = "transfer:";
/** Prefixes of the references of corrections. A number, counted from 1 for each cause, and the cause follow. */
export const TAKEN_BACK_REFERENCE = "taken-back:";
export const REFUND_REFERENCE = "refund:";
/** Prefix of the references of gifts: of a bonus its name and the reference of its top-up follow, of a voucher code and account. */
export const BONUS_REFERENCE = "bonus:";
export const VOUCHER_REFERENCE = "voucher:";
/** Prefix of the references of rows that mend a drift: see `mend_wallet`. */
export const DRIFT_REFERENCE = "drift:";

const PREFIXES = [
  TRANSFER_REFERENCE,
  TAKEN_BACK_REFERENCE,
  REFUND_REFERENCE,
  BONUS_REFERENCE,
  VOUCHER_REFERENCE,
  DRIFT_REFERENCE,
];

/** References that the gateway itself makes: they name what caused a movement. */
export const ownReferences = {
  transfer: TRANSFER_REFERENCE,
  prefixes: PREFIXES.join(", "),
  has: (reference: string): boolean => PREFIXES.some((own) => reference.startsWith(own)),
};

/** More corrections of one cause than any operator makes. */
const CORRECTIONS_MAX = 100;
/** Another process may correct the same cause at once. */
const ATTEMPTS = 5;

interface CorrectionRequest {
  /**
   * The part of the cause that is corrected in all, this time and before, in µđ; by default all of it. So a request that
   * is sent again changes nothing.
   */
  readonly totalMicroVnd: bigint | undefined;
  /** The customer sees it. */
  readonly reason: string;
  /** Called with the movement before it is made; a refusal ends it. An amount below 0 takes money away. */
  readonly confirm: (accountId: string, amountMicroVnd: bigint) => Promise<Refusal | undefined>;
}

interface TakeBack extends CorrectionRequest {
  /** The reference of the top-up, or of a gift, in the ledger. */
  readonly topUp: string;
  /** If the wallet has less, take that, even if it is nothing. */
  readonly asMuchAsThereIs: boolean;
}

interface Refund extends CorrectionRequest {
  readonly callId: string;
}

export type Correction =
  | {
      readonly kind: "corrected";
      readonly accountId: string;
      /** Of this movement; 0 if nothing was missing, or there was nothing to take. */
      readonly amountMicroVnd: bigint;
      /** Of the cause, corrected in all and not corrected. */
      readonly totalMicroVnd: bigint;
      readonly leftMicroVnd: bigint;
      /** Of the bonuses of a top-up, taken by this movement; 0 if it has none. */
      readonly bonusMicroVnd: bigint;
    }
  /** There is no such top-up or call, or it is not in the ledger yet. */
  | { readonly kind: "unknown" }
  /** The cause is smaller. */
  | { readonly kind: "too_much"; readonly causeMicroVnd: bigint }
  /** More of it was corrected before. */
  | { readonly kind: "more_before"; readonly totalMicroVnd: bigint }
  /** The wallet has less than is to be taken. */
  | { readonly kind: "short"; readonly availableMicroVnd: bigint }
  /** It was not confirmed. */
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** The wallet cannot hold so much. */
  | { readonly kind: "out_of_range" };

interface Cause {
  readonly accountId: string;
  readonly amountMicroVnd: bigint;
}

/** A row of the ledger that charged a call. */
interface Charge extends Cause {
  readonly id: bigint;
  readonly at: Date;
  /** The balance after it. */
  readonly balanceMicroVnd: bigint;
}

interface Bonus extends Cause {
  readonly reference: string;
}

interface Plan {
  readonly prefix: string;
  readonly cause: string;
  readonly found: Cause;
  readonly isTaken: boolean;
  readonly asMuchAsThereIs: boolean;
  readonly totalMicroVnd: bigint | undefined;
  readonly reason: string;
  readonly confirm: CorrectionRequest["confirm"];
}

/**
 * Money that went wrong: a top-up that is taken back, a call that is paid back. Each is a movement of the wallet, tied to
 * its cause by its reference. That has a number, so that of two processes that correct the same cause at once one makes
 * the movement: the other reads again what is left. Their sum never exceeds the cause.
 */
export class Corrections {
  constructor(
    private readonly wallets: Wallets,
    private readonly database: Database,
  ) {}

  /**
   * Takes a top-up out of the wallet again: it was given to the wrong account, or paid back by the bank. Its bonuses go
   * first, in proportion: if this process dies, no bonus is left without its top-up, and a repetition goes on. If the wallet
   * has too little and as much as there is is wanted, the top-up goes first.
   */
  async takeBack({ topUp, asMuchAsThereIs, ...request }: TakeBack): Promise<Correction> {
    const found = await this.topUp(topUp);
    if (!found) return { kind: "unknown" };
    const plan = { prefix: TAKEN_BACK_REFERENCE, isTaken: true, asMuchAsThereIs, ...request };
    const whole = { ...plan, cause: topUp, found };
    const parts = await this.bonusesOf(found, topUp, request.totalMicroVnd);
    if (parts.length === 0) return this.correct(whole);
    // One question, and one look at the wallet, for all of it.
    const wantedMicroVnd = request.totalMicroVnd ?? found.amountMicroVnd;
    const { before } = await this.corrected(TAKEN_BACK_REFERENCE, topUp);
    // Before a bonus is taken: `correct` would refuse the rest.
    if (request.totalMicroVnd !== undefined && before > wantedMicroVnd)
      return { kind: "more_before", totalMicroVnd: before };
    const restMicroVnd = wantedMicroVnd > before ? wantedMicroVnd - before : 0n;
    const allMicroVnd = parts.reduce(
      (sum, { missingMicroVnd }) => sum + missingMicroVnd,
      restMicroVnd,
    );
    const availableMicroVnd = await this.availableOf(found.accountId);
    let takenMicroVnd = allMicroVnd;
    if (availableMicroVnd < allMicroVnd) {
      if (!asMuchAsThereIs) return { kind: "short", availableMicroVnd };
      takenMicroVnd = availableMicroVnd;
    }
    const refusal = await request.confirm(found.accountId, -takenMicroVnd);
    if (refusal) return { kind: "refused", refusal };
    const confirm = async () => undefined;
    let bonusMicroVnd = 0n;
    const takeBonuses = async (): Promise<Correction | undefined> => {
      for (const { reference, totalMicroVnd, ...bonus } of parts) {
        const part = { ...plan, cause: reference, found: bonus, totalMicroVnd, confirm };
        const taken = await this.correct(part);
        if (taken.kind !== "corrected") return taken;
        bonusMicroVnd += taken.amountMicroVnd;
      }
      return undefined;
    };
    const failed = asMuchAsThereIs ? undefined : await takeBonuses();
    if (failed) return failed;
    const taken = await this.correct({ ...whole, confirm });
    if (taken.kind !== "corrected") return taken;
    if (asMuchAsThereIs) await takeBonuses();
    return { ...taken, bonusMicroVnd };
  }

  /** Returns what a correction corrects; undefined if it is not in the ledger. */
  cause(of: { readonly topUp: string } | { readonly callId: string }): Promise<Cause | undefined> {
    return "topUp" in of ? this.topUp(of.topUp) : this.charge(of.callId);
  }

  private async topUp(reference: string): Promise<Cause | undefined> {
    const [found] = await this.database.query<Cause>(
      `select account_id as "accountId", amount as "amountMicroVnd" from ledger_entries
      where reference = $1 and call_id is null and (
        kind = 'topup' or starts_with(reference, '${BONUS_REFERENCE}') or starts_with(reference, '${VOUCHER_REFERENCE}')
      )`,
      [reference],
    );
    return found;
  }

  /** Returns the bonuses of a top-up of which more is to be taken back, if so much of the top-up is; by default all. */
  private async bonusesOf(topUp: Cause, reference: string, totalMicroVnd: bigint | undefined) {
    const bonuses = await this.database.query<Bonus>(
      `select account_id as "accountId", amount as "amountMicroVnd", reference from ledger_entries
      where account_id = $1 and kind = 'adjustment' and call_id is null
        and reference = '${BONUS_REFERENCE}' || split_part(reference, ':', 2) || ':' || $2`,
      [topUp.accountId, reference],
    );
    const wantedMicroVnd = totalMicroVnd ?? topUp.amountMicroVnd;
    if (wantedMicroVnd > topUp.amountMicroVnd) return [];
    const parts = bonuses.map(async (bonus) => {
      const total = (bonus.amountMicroVnd * wantedMicroVnd) / topUp.amountMicroVnd;
      const { before } = await this.corrected(TAKEN_BACK_REFERENCE, bonus.reference);
      return { ...bonus, totalMicroVnd: total, missingMicroVnd: total - before };
    });
    return (await Promise.all(parts)).filter(({ missingMicroVnd }) => missingMicroVnd > 0n);
  }

  /** Gives what a call cost back to its wallet. */
  async refund({ callId, ...request }: Refund): Promise<Correction> {
    const found = await this.charge(callId);
    if (!found) return { kind: "unknown" };
    const plan = { prefix: REFUND_REFERENCE, cause: callId, isTaken: false };
    return this.correct({ ...plan, asMuchAsThereIs: false, ...request, found });
  }

  /** Returns the row of the ledger that charged a call; undefined if it cost nothing, or is not in the ledger yet. */
  async charge(callId: string): Promise<Charge | undefined> {
    if (!isId(callId)) return undefined;
    const [found] = await this.database.query<Charge>(
      `select account_id as "accountId", -amount as "amountMicroVnd", id, at, balance_after as "balanceMicroVnd"
      from ledger_entries where call_id = $1`,
      [callId],
    );
    return found;
  }

  /** Returns how much of a call was paid back, in µđ. */
  async refunded(callId: string): Promise<bigint> {
    return (await this.corrected(REFUND_REFERENCE, callId)).before;
  }

  private async correct(plan: Plan): Promise<Correction> {
    const { prefix, cause, found, isTaken, asMuchAsThereIs, reason } = plan;
    const { accountId, amountMicroVnd: causeMicroVnd } = found;
    const wantedMicroVnd = plan.totalMicroVnd ?? causeMicroVnd;
    if (wantedMicroVnd > causeMicroVnd) return { kind: "too_much", causeMicroVnd };
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { count, before } = await this.corrected(prefix, cause);
      if (count >= CORRECTIONS_MAX)
        throw new Error(`${cause} has ${count} corrections, the maximum`);
      const corrected = (amountMicroVnd: bigint): Correction => {
        const totalMicroVnd = before + amountMicroVnd;
        const leftMicroVnd = causeMicroVnd - totalMicroVnd;
        const sums = { amountMicroVnd, totalMicroVnd, leftMicroVnd, bonusMicroVnd: 0n };
        return { kind: "corrected", accountId, ...sums };
      };
      const missingMicroVnd = wantedMicroVnd - before;
      if (missingMicroVnd < 0n && plan.totalMicroVnd !== undefined) {
        return { kind: "more_before", totalMicroVnd: before };
      }
      if (missingMicroVnd <= 0n) return corrected(0n);
      let amountMicroVnd = missingMicroVnd;
      const availableMicroVnd = isTaken ? await this.availableOf(accountId) : missingMicroVnd;
      if (availableMicroVnd < missingMicroVnd) {
        if (!asMuchAsThereIs) return { kind: "short", availableMicroVnd };
        if (availableMicroVnd === 0n) return corrected(0n);
        amountMicroVnd = availableMicroVnd;
      }
      const movedMicroVnd = isTaken ? -amountMicroVnd : amountMicroVnd;
      const refusal = await plan.confirm(accountId, movedMicroVnd);
      if (refusal) return { kind: "refused", refusal };
      const result = await this.wallets.credit({
        accountId,
        amountMicroVnd: movedMicroVnd,
        reference: `${prefix}${count + 1}:${cause}`,
        kind: "adjustment",
        reason,
      });
      if (result.kind === "credited" && result.applied) return corrected(amountMicroVnd);
      if (result.kind === "no_account") return { kind: "unknown" };
      if (result.kind === "out_of_range") return result;
      // Another process was faster: with the same cause, or with the money of the wallet.
    }
    throw new Error("others correct the same at the same time; try again");
  }

  /** Returns how many corrections of a cause there are, and their sum. */
  private async corrected(prefix: string, cause: string) {
    const references = Array.from(
      { length: CORRECTIONS_MAX },
      (_, at) => `${prefix}${at + 1}:${cause}`,
    );
    const [row] = await this.database.query<{ count: number; before: bigint }>(
      `select count(*)::integer as count, coalesce(sum(abs(amount)), 0)::bigint as before
      from ledger_entries where call_id is null and reference in (
        select json_array_elements_text($1::text::json)
      )`,
      [JSON.stringify(references)],
    );
    return row ?? { count: 0, before: 0n };
  }

  private async availableOf(accountId: string): Promise<bigint> {
    return BigInt((await this.wallets.balances(accountId))?.availableMicroVnd ?? 0);
  }
}
