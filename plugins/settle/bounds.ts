import {
  type Call,
  MICRO_VND_PER_VND,
  type MicroVnd,
  type Model,
  type Tariff,
} from "../../core/plugin/index.ts";

type Held = NonNullable<Call["held"]>;

/** Returns how many images a call asks for. */
export function imagesOf(call: Call): number {
  const count = call.body.read("n");
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : 1;
}

/** The parts of a hold before its output. */
interface Base {
  readonly quantity: Held["baseQuantity"];
  /** The minimum that the wallet must cover; the same as `quantity` if the input is known. */
  readonly least: Held["baseQuantity"];
  readonly feesMicroVnd: MicroVnd;
}

/**
 * Returns what to hold for the input of a call, each token at its dearest factor, and for the fees of its features. If
 * the input cannot be computed from the request, that is the whole context window, or as much as the wallet has.
 */
export function baseOf(call: Call, model: Model, tariff: Tariff): Base {
  const { surcharge } = call;
  const { unit, factors } = tariff;
  const feesMicroVnd = (surcharge?.holdFeesVnd ?? 0) * MICRO_VND_PER_VND;
  if (unit !== "mtok") {
    const quantity = tariff.quantityOf({ ...NO_TOKENS, images: imagesOf(call) });
    return { quantity, least: quantity, feesMicroVnd };
  }
  // Only the provider knows which tokens it reads from its cache or writes to it.
  const factor = Math.max(factors.input, factors.cached_input, factors.cache_write);
  const tokens = call.inputTokensBound + (surcharge?.holdTokens ?? 0);
  const window = surcharge?.unbounded ? (model.contextWindow ?? 0) : 0;
  return {
    quantity: Math.max(tokens, window) * factor,
    least: tokens * factor,
    feesMicroVnd,
  };
}

const NO_TOKENS = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

/** The part of a hold that its price depends on. */
type Priced = Pick<Held, "tariff" | "baseQuantity" | "feesMicroVnd">;

/** Returns the amount that covers a call with this much output. */
export function amountFor(held: Priced, outputTokens: number): MicroVnd {
  const { tariff, baseQuantity, feesMicroVnd } = held;
  return tariff.priceOf(baseQuantity + outputTokens * tariff.factors.output) + feesMicroVnd;
}

/** Returns the output tokens that an amount covers beside the fees and the input; below 0 if it does not cover these. */
export function outputFor(held: Priced, amount: MicroVnd): number {
  const { tariff, baseQuantity, feesMicroVnd } = held;
  const quantity = tariff.affordable(amount - feesMicroVnd);
  return Math.floor((quantity - baseQuantity) / tariff.factors.output);
}
