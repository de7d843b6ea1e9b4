import { BASIS_POINTS, cost, discounted, type MicroVnd } from "../catalogue/amount.ts";
import type { Model, Price } from "../catalogue/catalogue.ts";
import {
  type Discount,
  type Discounts,
  discountBpsAt,
  discountsAt,
} from "../catalogue/discount.ts";
import { Usage } from "../wire/usage/usage.ts";
import type { CallOutcome, Posting } from "./hold-store.ts";
import type { CustomerRecord, UsageRecord } from "./usage-fields.ts";

/**
 * The cost of a call, as pure functions: the price of units under a tariff, the charge of a call
 * that has ended, and the same again from a usage record.
 *
 *   cost = quantity × unit price, less the discounts (added up, rounded once, half up), plus fees
 *
 * Discounts by name: `account` is the account's own, `lifetime` and `daily` are promotions of the plugin `topup`. Fees are
 * those of priced features, by use, and are not discounted. `catalogueVersion` is a short hash of all entries of the catalogue, logged at each start and reload.
 */

/** Tokens in the unit `mtok`. */
const TOKENS_PER_MTOK = 1_000_000;

/** The price at which a call is held and charged, fixed when the call begins. */
export interface Tariff {
  readonly unit: Price["unit"];
  /** µđ for one token, one call or one image. */
  readonly microVnd: MicroVnd;
  /** The sum of all discounts; 100 = 1%. */
  readonly discountBps: number;
  readonly discounts: Discounts | null;
  readonly catalogueVersion: string;
}

/**
 * Returns the price of a model at an instant, for an account with these discounts. `factor`: the price factor of the
 * features that the call uses.
 */
export function tariffOf(
  model: Model,
  ownDiscountBps: number,
  earned: readonly Discount[],
  nowMs: number,
  factor = 1,
): Tariff {
  return {
    unit: model.price.unit,
    microVnd: Math.ceil(model.price.microVnd * factor),
    discountBps: discountBpsAt(ownDiscountBps, earned, nowMs),
    discounts: discountsAt(ownDiscountBps, earned, nowMs),
    catalogueVersion: model.catalogueVersion,
  };
}

/** Returns the price of a whole unit in µđ: 1,000,000 tokens, a call or an image. */
export function unitPriceOf({ unit, microVnd }: Pick<Tariff, "unit" | "microVnd">): MicroVnd {
  return unit === "mtok" ? microVnd * TOKENS_PER_MTOK : microVnd;
}

/** Returns the price of some tokens, calls or images, less the discount. */
export function priceOf(
  quantity: number,
  tariff: Pick<Tariff, "microVnd" | "discountBps">,
): MicroVnd {
  return discounted(cost(quantity, tariff.microVnd), tariff.discountBps);
}

/** Returns the maximum number of tokens, calls or images whose price the amount covers. */
export function affordable(amount: MicroVnd, tariff: Tariff): number {
  const perUnit = BigInt(tariff.microVnd) * BigInt(BASIS_POINTS - tariff.discountBps);
  if (perUnit === 0n) return Number.MAX_SAFE_INTEGER;
  const units = (BigInt(amount) * BigInt(BASIS_POINTS)) / perUnit;
  // Rounding half up can make the last unit cost one µđ more than the amount.
  const fits = Number(units);
  return priceOf(fits, tariff) <= amount ? fits : fits - 1;
}

/** The fields of a posted call that say what it costs and why. */
export type Charge = Pick<
  Posting,
  | "unit"
  | "unitPriceMicroVnd"
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
  readonly taken: boolean;
  readonly outcome: CallOutcome | undefined;
  readonly usage: Usage | undefined;
}

/**
 * Returns the charge of a call that was sent upstream.
 *
 * A whole reply costs its usage, whether its client stayed or not. If the wallet ran out or the upstream
 * broke, the call costs what was delivered. If the client left and the upstream was cancelled, it costs its
 * input too, or its fixed price. Refusals and calls that delivered nothing cost nothing. A fixed price is
 * not charged for a reply that the provider failed to finish. `unpricedTokens` of the usage are paid by
 * the fees.
 */
export function chargeOf(
  call: ChargedCall,
  tariff: Tariff,
  feesMicroVnd: MicroVnd = 0,
  unpricedTokens = 0,
): Charge {
  const counted = countedQuantity(tariff.unit, countedUsage(call));
  const isCharged = !isFree(call, tariff);
  const quantity = isCharged ? Math.max(0, counted - unpricedTokens) : 0;
  const fees = isCharged ? feesMicroVnd : 0;
  return {
    unit: tariff.unit,
    unitPriceMicroVnd: unitPriceOf(tariff),
    quantity: quantity === counted ? null : quantity,
    discountBps: tariff.discountBps,
    discounts: tariff.discounts,
    feesMicroVnd: fees === 0 ? null : fees,
    costMicroVnd: (quantity === 0 ? 0 : priceOf(quantity, tariff)) + fees,
    catalogueVersion: tariff.catalogueVersion,
  };
}

/** Returns the usage for the record of a call: none if nothing was delivered. */
export function countedUsage(call: ChargedCall): Usage {
  return (isBilled(call) ? call.usage : undefined) ?? NO_USAGE;
}

/** The charge of a recorded call, computed again from the record alone. */
export interface Recomputed {
  readonly quantity: number;
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
  const quantity = record.quantity ?? countedQuantity(unit, record);
  const microVnd = Number(unitPriceMicroVnd) / (unit === "mtok" ? TOKENS_PER_MTOK : 1);
  const discountBps = discounts === null ? 0 : totalBps(discounts);
  const listMicroVnd = cost(quantity, microVnd);
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
  const quantity = record.quantity ?? countedQuantity(record.unit, record);
  return { ...record, quantity, feesMicroVnd: record.feesMicroVnd ?? 0n };
}

type PricedRecord = Pick<
  UsageRecord,
  "unit" | "quantity" | "feesMicroVnd" | "inputTokens" | "outputTokens" | "images"
>;

const NO_USAGE: Usage = Object.freeze(new Usage());

/** Returns the tokens, calls or images of a call that is billed whole. */
function countedQuantity(
  unit: Price["unit"],
  usage: Pick<Usage, "inputTokens" | "outputTokens" | "images">,
): number {
  if (unit === "mtok") return usage.inputTokens + usage.outputTokens;
  return unit === "image" ? usage.images : 1;
}

/**
 * Returns true if a call costs what it used: if part of its reply was delivered, if the wallet ran out before that and
 * the provider has reported what it bills, or if the client left an upstream that had the request.
 */
export function isBilled({ status, delivered, taken, outcome, usage }: ChargedCall): boolean {
  // Such a call may have no status, as its client left before one was sent.
  if (outcome === "gone") return delivered || taken;
  if (status !== 200) return false;
  return delivered || (outcome === "exhausted" && hasReport(usage));
}

function hasReport(usage: Usage | undefined): boolean {
  return usage !== undefined && (usage.inputReported || usage.outputReported);
}

function isFree(call: ChargedCall, tariff: Tariff): boolean {
  if (!isBilled(call) || call.outcome === "refused") return true;
  return call.outcome === "broken" && tariff.unit !== "mtok";
}

function totalBps(discounts: Discounts): number {
  const sum = Object.values(discounts).reduce((total, bps) => total + bps, 0);
  return Math.min(sum, BASIS_POINTS);
}
