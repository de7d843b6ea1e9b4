import { BASIS_POINTS, MICRO_VND_MAX, type MicroVnd } from "../catalogue/amount.ts";
import { type Model, type Price, priceAt } from "../catalogue/catalogue.ts";
import {
  type Discount,
  type Discounts,
  discountBpsAt,
  discountsAt,
} from "../catalogue/discount.ts";
import {
  type CountedUsage,
  factorsOf,
  ONE,
  type PriceFactors,
  type Quantity,
  quantityOf,
  statedOf,
  times,
} from "../catalogue/price-factors.ts";
import { Usage } from "../wire/usage/usage.ts";
import type { Posting } from "./outbox-entry.ts";
import type { CallOutcome, CustomerRecord, UsageRecord } from "./usage-fields.ts";

/**
 * The cost of a call, as pure functions: the price of a quantity under a tariff, the charge of a call
 * that has ended, and the same again from a usage record.
 *
 *   quantity = the sum of what is counted × its factor: input, cached input, cache writes, output, calls, images
 *   cost = quantity × unit price, less the discounts (added up), rounded half up to a whole µđ, plus fees
 *
 * Only `priceOf` rounds, once, at the end.
 *
 * Discounts by name: `account` is the account's own, `lifetime` and `daily` are promotions of the plugin `topup`. Fees are
 * those of priced features, by use, and are not discounted. `catalogueVersion` is a short hash of all entries of the catalogue, logged at each start and reload.
 */

/** Tokens in the unit `mtok`. */
const TOKENS_PER_MTOK = 1_000_000;

interface TariffFields {
  readonly unit: Price["unit"];
  /** µđ for one token, one call or one image at a factor of 1. */
  readonly microVnd: MicroVnd;
  readonly factors: PriceFactors;
  /** The sum of all discounts; 100 = 1%. */
  readonly discountBps: number;
  readonly discounts: Discounts | null;
  readonly catalogueVersion: string;
}

/** The price at which a call is held and charged, fixed when the call begins. */
export class Tariff implements TariffFields {
  readonly unit: Price["unit"];
  readonly microVnd: MicroVnd;
  readonly factors: PriceFactors;
  readonly discountBps: number;
  readonly discounts: Discounts | null;
  readonly catalogueVersion: string;

  constructor(fields: TariffFields) {
    this.unit = fields.unit;
    this.microVnd = fields.microVnd;
    this.factors = fields.factors;
    this.discountBps = fields.discountBps;
    this.discounts = fields.discounts;
    this.catalogueVersion = fields.catalogueVersion;
  }

  /**
   * Returns the price of a model at an instant, for an account with these discounts. `factor`: the price factor of the
   * features that the call uses.
   */
  static of(
    model: Model,
    ownDiscountBps: number,
    earned: readonly Discount[],
    nowMs: number,
    factor = 1,
  ): Tariff {
    const { unit, microVnd, factors } = priceAt(model, nowMs);
    return new Tariff({
      unit,
      microVnd: times(microVnd, factor),
      factors,
      discountBps: discountBpsAt(ownDiscountBps, earned, nowMs),
      discounts: discountsAt(ownDiscountBps, earned, nowMs),
      catalogueVersion: model.catalogueVersion,
    });
  }

  /** The price of a whole unit in µđ, without discounts: 1,000,000 tokens, a call or an image. */
  get unitPriceMicroVnd(): MicroVnd {
    return this.unit === "mtok" ? this.microVnd * TOKENS_PER_MTOK : this.microVnd;
  }

  /** A whole unit as a quantity. */
  get unitQuantity(): Quantity {
    return this.unit === "mtok" ? ONE * TOKENS_PER_MTOK : ONE;
  }

  /** Returns the quantity of a call that is billed whole: what is counted, each times its factor. */
  quantityOf(usage: CountedUsage): Quantity {
    return quantityOf(this.unit, usage, this.factors);
  }

  /** Returns the price of a quantity, less the discounts: see the function. */
  priceOf(quantity: Quantity): MicroVnd {
    return priceOf(quantity, this);
  }

  /** Returns the largest quantity whose price the amount covers. */
  affordable(amount: MicroVnd): Quantity {
    const price = BigInt(this.microVnd) * BigInt(BASIS_POINTS - this.discountBps);
    if (price === 0n) return Number.MAX_SAFE_INTEGER;
    return Math.min(Number((BigInt(amount) * DIVISOR) / price), Number.MAX_SAFE_INTEGER);
  }

  /**
   * Returns the charge of a call that was sent upstream.
   *
   * A whole reply costs its usage, whether its client stayed or not. If the upstream broke, the call costs what was
   * delivered; if the wallet ran out, what the upstream wrote. If the client left and the upstream was cancelled, it costs its
   * input too, or its fixed price. Refusals and calls that delivered nothing cost nothing. A fixed price is
   * not charged for a reply that the provider failed to finish. `elsewhere`: the part of the usage that the
   * fees pay.
   */
  chargeOf(call: ChargedCall, feesMicroVnd: MicroVnd = 0, elsewhere?: CountedUsage): Charge {
    const { unit, factors } = this;
    const usage = countedUsage(call);
    const counted = this.quantityOf(usage);
    const isCharged = !isFree(call, this);
    const own = elsewhere ? this.quantityOf(rest(usage, elsewhere)) : counted;
    const quantity = isCharged ? own : 0;
    const fees = isCharged ? feesMicroVnd : 0;
    return {
      unit,
      unitPriceMicroVnd: this.unitPriceMicroVnd,
      factors: statedOf(factors),
      quantity: quantity === counted ? null : quantity,
      discountBps: this.discountBps,
      discounts: this.discounts,
      feesMicroVnd: fees === 0 ? null : fees,
      costMicroVnd: (quantity === 0 ? 0 : this.priceOf(quantity)) + fees,
      catalogueVersion: this.catalogueVersion,
    };
  }
}

/** A price of `microVnd` for `ONE`, less a discount: millionths of a unit times basis points. */
const DIVISOR = BigInt(ONE) * BigInt(BASIS_POINTS);
/** Half of what a number counts exactly, so that its quotient by `BASIS_POINTS` is never rounded up to a whole number. */
const EXACT_MAX = 2 ** 52;

/**
 * Returns the price of a quantity, less the discount, rounded half up to a whole µđ. Throws a RangeError if no amount
 * can express it.
 */
export function priceOf(
  quantity: Quantity,
  { microVnd, discountBps }: Pick<Tariff, "microVnd" | "discountBps">,
): MicroVnd {
  // NaN and fractions, which BigInt refuses with other words.
  if (!Number.isSafeInteger(quantity)) throw outOfRange(quantity, microVnd);
  // The usual case, whose product is exact as a number: a tenth of the time.
  const whole = (quantity / ONE) * microVnd * (BASIS_POINTS - discountBps);
  if (quantity % ONE === 0 && whole >= 0 && whole < EXACT_MAX) {
    return Math.floor((whole + BASIS_POINTS / 2) / BASIS_POINTS);
  }
  const exact = BigInt(quantity) * BigInt(microVnd) * BigInt(BASIS_POINTS - discountBps);
  const price = Number((exact + DIVISOR / 2n) / DIVISOR);
  if (price < 0 || price > MICRO_VND_MAX) throw outOfRange(quantity, microVnd);
  return price;
}

function outOfRange(quantity: Quantity, microVnd: MicroVnd): RangeError {
  return new RangeError(`cost out of range: ${quantity / ONE} × ${microVnd} µđ`);
}

/** The fields of a posted call that say what it costs and why. */
type Charge = Pick<
  Posting,
  | "unit"
  | "unitPriceMicroVnd"
  | "factors"
  | "quantity"
  | "discountBps"
  | "discounts"
  | "feesMicroVnd"
  | "costMicroVnd"
  | "catalogueVersion"
>;

/** The fields of an ended call that its charge depends on. */
interface ChargedCall {
  readonly status: number;
  readonly delivered: boolean;
  readonly deliveredTokens: number;
  readonly taken: boolean;
  readonly outcome: CallOutcome | undefined;
  readonly usage: Usage | undefined;
}

/** Returns the usage for the record of a call: none if nothing was delivered. */
export function countedUsage(call: ChargedCall): Usage {
  return (isBilled(call) ? call.usage : undefined) ?? NO_USAGE;
}

/** The charge of a recorded call, computed again from the record alone. */
export interface Recomputed {
  readonly quantity: Quantity;
  /** Before discounts and fees. */
  readonly listMicroVnd: MicroVnd;
  readonly discountBps: number;
  readonly discountMicroVnd: MicroVnd;
  readonly feesMicroVnd: MicroVnd;
  readonly costMicroVnd: MicroVnd;
  /** The cost less what was written off. The record is wrong unless this equals its charge. */
  readonly chargedMicroVnd: MicroVnd;
}

/** Returns the charge computed again. */
export function recomputed(record: CustomerRecord): Recomputed {
  const { unit, unitPriceMicroVnd, discounts } = record;
  const quantity = record.quantity ?? countedQuantity(record);
  const microVnd = Number(unitPriceMicroVnd) / (unit === "mtok" ? TOKENS_PER_MTOK : 1);
  const discountBps = discounts === null ? 0 : totalBps(discounts);
  const listMicroVnd = priceOf(quantity, { microVnd, discountBps: 0 });
  const pricedMicroVnd = priceOf(quantity, { microVnd, discountBps });
  const feesMicroVnd = Number(record.feesMicroVnd ?? 0n);
  const costMicroVnd = pricedMicroVnd + feesMicroVnd;
  return {
    quantity,
    listMicroVnd,
    discountBps,
    discountMicroVnd: listMicroVnd - pricedMicroVnd,
    feesMicroVnd,
    costMicroVnd,
    chargedMicroVnd: costMicroVnd - Number(record.writtenOffMicroVnd),
  };
}

/** Fills in what the ledger leaves out to save space: the usual quantity, and fees of 0. */
export function filledIn<Record extends PricedRecord>(record: Record): Record {
  const quantity = record.quantity ?? countedQuantity(record);
  return { ...record, quantity, feesMicroVnd: record.feesMicroVnd ?? 0n };
}

type PricedRecord = CountedUsage &
  Pick<UsageRecord, "unit" | "factors" | "quantity" | "feesMicroVnd">;

const NO_USAGE: Usage = Object.freeze(new Usage());

/** Returns the quantity of a call that is billed whole. */
function countedQuantity(record: Omit<PricedRecord, "quantity" | "feesMicroVnd">): Quantity {
  return quantityOf(record.unit, record, factorsOf(record.factors));
}

/** Returns the usage without a part of it. */
function rest(usage: CountedUsage, part: CountedUsage): CountedUsage {
  return {
    inputTokens: Math.max(0, usage.inputTokens - part.inputTokens),
    cacheReadTokens: Math.max(0, usage.cacheReadTokens - part.cacheReadTokens),
    cacheWriteTokens: Math.max(0, usage.cacheWriteTokens - part.cacheWriteTokens),
    outputTokens: Math.max(0, usage.outputTokens - part.outputTokens),
    images: Math.max(0, usage.images - part.images),
  };
}

/**
 * Returns true if a call costs what it used: if part of its reply was delivered, if the wallet ran out before that and
 * the provider has reported what it bills or written output, such as a summary that is passed on at its end, or if the
 * client left an upstream that had the request.
 */
export function isBilled(call: ChargedCall): boolean {
  const { status, delivered, taken, outcome } = call;
  // Such a call may have no status, as its client left before one was sent.
  if (outcome === "gone") return delivered || taken;
  if (status !== 200) return false;
  return delivered || (outcome === "exhausted" && isCounted(call));
}

function isCounted({ usage, deliveredTokens }: ChargedCall): boolean {
  if (usage === undefined) return false;
  return usage.inputReported || usage.outputReported || deliveredTokens > 0;
}

function isFree(call: ChargedCall, tariff: Tariff): boolean {
  if (!isBilled(call) || call.outcome === "refused") return true;
  return call.outcome === "broken" && tariff.unit !== "mtok";
}

function totalBps(discounts: Discounts): number {
  const sum = Object.values(discounts).reduce((total, bps) => total + bps, 0);
  return Math.min(sum, BASIS_POINTS);
}
