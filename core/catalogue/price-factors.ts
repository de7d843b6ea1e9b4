import * as v from "valibot";

/**
 * The kinds of things that a price counts, by its unit. Each has a factor on the unit price, 1 by default.
 *
 * Factors are decimals in the catalogue and in records. To stay exact, calculations hold them in millionths, and so
 * quantities too: a token at a factor of 0.1 is 100,000.
 */
export const PRICE_KINDS = {
  mtok: ["input", "cached_input", "cache_write", "output"],
  call: ["per_call"],
  image: ["per_image"],
} as const;

/** The unit of a price: 1,000,000 tokens, a call or an image. */
export type PriceUnit = keyof typeof PRICE_KINDS;

export type PriceKind = (typeof PRICE_KINDS)[PriceUnit][number];

/** A factor on a unit price by kind, in millionths. */
export type PriceFactors = Readonly<Record<PriceKind, number>>;

/** The factors other than 1, as decimals: `{ cached_input: 0.1 }`. */
export type StatedFactors = Readonly<Partial<Record<PriceKind, number>>>;

/** Tokens, calls or images, each weighted by its factor, in millionths. */
export type Quantity = number;

/** How many tokens, calls or images of each kind a call is charged for. */
type Counts = Readonly<Record<PriceKind, number>>;

/** One token, call or image at a factor of 1; also a factor of 1. */
export const ONE = 1_000_000;

const FACTOR = "a number from 0.001 to 100 with at most six decimals";

export const priceFactor = v.pipe(
  v.number(FACTOR),
  v.minValue(0.001, FACTOR),
  v.maxValue(100, FACTOR),
  v.check((factor) => millionths(factor) / ONE === factor, FACTOR),
);

/** Returns a decimal of at most six places as a whole number of millionths. */
function millionths(decimal: number): number {
  return Math.round(decimal * ONE);
}

/** Returns the product of an amount and a factor, exact and rounded up to a whole number. */
export function times(amount: number, factor: number): number {
  if (factor === 1) return amount;
  const product = BigInt(amount) * BigInt(millionths(factor));
  return Number((product + BigInt(ONE - 1)) / BigInt(ONE));
}

/** Returns the product of two factors, rounded up to six decimals. */
export function productOf(one: number, other: number): number {
  return times(millionths(one), other) / ONE;
}

function ofEachKind(value: number): Readonly<Record<PriceKind, number>> {
  return Object.freeze({
    input: value,
    cached_input: value,
    cache_write: value,
    output: value,
    per_call: value,
    per_image: value,
  });
}

export const NO_FACTORS: PriceFactors = ofEachKind(ONE);

/** Returns the factors of all kinds. */
export function factorsOf(stated: StatedFactors | null): PriceFactors {
  const factors = { ...NO_FACTORS };
  for (const [kind, factor] of Object.entries(stated ?? {})) {
    factors[kind as PriceKind] = millionths(factor);
  }
  return statedOf(factors) === null ? NO_FACTORS : Object.freeze(factors);
}

/** Returns the factors other than 1 as a record keeps them; null if there are none. */
export function statedOf(factors: PriceFactors): StatedFactors | null {
  if (factors === NO_FACTORS) return null;
  const stated: Partial<Record<PriceKind, number>> = {};
  for (const [kind, factor] of Object.entries(factors)) {
    if (factor !== ONE) stated[kind as PriceKind] = factor / ONE;
  }
  return Object.keys(stated).length === 0 ? null : stated;
}

/** The fields of a usage that are counted. The input includes the caches. */
export interface CountedUsage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly images: number;
}

const NOTHING: Counts = ofEachKind(0);
const ONE_CALL: Counts = Object.freeze({ ...NOTHING, per_call: 1 });

/**
 * Returns the counts of a call that is billed whole. Each token counts once: `input` is the part that is neither read
 * from a cache nor written to one.
 */
export function countsOf(unit: PriceUnit, usage: CountedUsage): Counts {
  if (unit === "call") return ONE_CALL;
  if (unit === "image") return { ...NOTHING, per_image: usage.images };
  const { inputTokens } = usage;
  const cached = Math.min(usage.cacheReadTokens, inputTokens);
  const written = Math.min(usage.cacheWriteTokens, inputTokens - cached);
  // All fields at their places: a spread takes longer than the rest of this.
  return {
    input: inputTokens - cached - written,
    cached_input: cached,
    cache_write: written,
    output: usage.outputTokens,
    per_call: 0,
    per_image: 0,
  };
}

/** Returns the quantity of a call that is billed whole: the sum of its counts, each times its factor. */
export function quantityOf(unit: PriceUnit, usage: CountedUsage, factors: PriceFactors): Quantity {
  const counts = countsOf(unit, usage);
  return (
    counts.input * factors.input +
    counts.cached_input * factors.cached_input +
    counts.cache_write * factors.cache_write +
    counts.output * factors.output +
    counts.per_call * factors.per_call +
    counts.per_image * factors.per_image
  );
}
