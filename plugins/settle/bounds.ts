import {
  type Call,
  countOf,
  headToRead,
  MICRO_VND_PER_VND,
  type Model,
  priceOf,
  type Tariff,
} from "../../core/plugin/index.ts";

/** Returns the units to hold for a call that is not priced per token. */
export function fixedUnits(call: Call, tariff: Tariff): number {
  return tariff.unit === "image" ? (countOf(headToRead(call)["n"]) ?? 1) : 1;
}

/** Units to hold for a call, before its output. */
interface Base {
  readonly units: number;
  /** The minimum that the wallet must cover; the same as `units` if the input is known. */
  readonly least: number;
}

/**
 * Returns the units to hold for the input of a call and for the fees of its features. If the input
 * cannot be computed from the request, that is the whole context window, or as much as the wallet
 * has.
 */
export function baseOf(call: Call, units: number, model: Model, tariff: Tariff): Base {
  const { surcharge } = call;
  if (!surcharge) return { units, least: units };
  const fees = feeUnits(surcharge.holdFeesVnd, tariff);
  const tokens = tariff.unit === "mtok" ? units + surcharge.holdTokens : units;
  const window = tariff.unit === "mtok" && surcharge.unbounded ? (model.contextWindow ?? 0) : 0;
  return { units: Math.max(tokens, window) + fees, least: tokens + fees };
}

/** Converts fees to a number of units whose price covers them, so that a hold is one number of units. */
function feeUnits(feesVnd: number, tariff: Tariff): number {
  if (feesVnd === 0) return 0;
  const MANY = 1_000_000;
  const microVnd = priceOf(MANY, tariff) / MANY;
  return microVnd === 0 ? 0 : Math.ceil((feesVnd * MICRO_VND_PER_VND) / microVnd);
}
