import {
  BASIS_POINTS,
  type Call,
  cost,
  countOf,
  discounted,
  type MicroVnd,
  type Model,
  type Tariff,
  type Usage,
} from "../../core/contract/index.ts";

/** Output of a model whose catalogue entry names no maximum. */
const OUTPUT_TOKENS_DEFAULT = 32_000;

export function tariffOf(model: Model, discountBps: number): Tariff {
  return { unit: model.price.unit, microVnd: model.price.microVnd, discountBps };
}

/** Price of some tokens, calls or images, discount included. */
export function priceOf(units: number, tariff: Tariff): MicroVnd {
  return discounted(cost(units, tariff.microVnd), tariff.discountBps);
}

/** The most units whose price an amount covers. */
export function affordable(amount: MicroVnd, tariff: Tariff): number {
  const perUnit = BigInt(tariff.microVnd) * BigInt(BASIS_POINTS - tariff.discountBps);
  if (perUnit === 0n) return Number.MAX_SAFE_INTEGER;
  const units = (BigInt(amount) * BigInt(BASIS_POINTS)) / perUnit;
  // Rounding half up can make the last unit cost one µđ more than the amount.
  const fits = Number(units);
  return priceOf(fits, tariff) <= amount ? fits : fits - 1;
}

/** The most output that a call may produce: what it asks for, within what the model can. */
export function outputTokensMax(limit: number | undefined, model: Model): number {
  const most = model.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT;
  return limit === undefined ? most : Math.min(limit, most);
}

/** Units that are held for a call that is not priced by the token. */
export function fixedUnits(call: Call, tariff: Tariff): number {
  return tariff.unit === "image" ? (countOf(call.body["n"]) ?? 1) : 1;
}

/** Units that a call has used in the end. */
export function unitsUsed(usage: Usage, tariff: Tariff): number {
  if (tariff.unit === "mtok") return usage.inputTokens + usage.outputTokens;
  return tariff.unit === "image" ? usage.images : 1;
}
