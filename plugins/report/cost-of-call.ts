import {
  type Call,
  countsOf,
  dayOf,
  isBilled,
  type MicroVnd,
  type Usage,
} from "../../core/plugin/index.ts";
import { type CostsFile, millionths, type Vector, valueOn } from "./costs-file.ts";

type Tokens = Pick<
  Usage,
  "inputTokens" | "cacheReadTokens" | "cacheWriteTokens" | "outputTokens" | "images"
>;

/** Millionths of a currency for 1,000,000 tokens, times millionths of a rate. */
const DIVISOR = 10n ** 12n;

/**
 * Returns what a call that has ended costs the operator, by the costs and rates of the day (in Vietnam) on which it
 * began; null if that is not known. It is rounded once, half up.
 *
 * The provider bills what it reports, and else what the gateway has counted, whether the client pays for it or not.
 * What it has refused costs nothing. Failed attempts before the one that served the call are not part of it.
 */
export function costOfCall(call: Call, { rates, costs }: CostsFile): MicroVnd | null {
  const { route, usage } = call;
  const isBegun = call.taken || call.delivered || (usage !== undefined && isReported(usage));
  if (call.outcome === "refused" || !isBegun)
    return call.failedAttempts.some(({ lost }) => lost) ? null : 0;
  if (!route || !usage) return null;
  const day = dayOf(new Date(call.at));
  const models = costs[route.upstream];
  const own = valueOn(models?.[route.model], day);
  if (!own) return null;
  // The file has what plain calls cost: fast mode or another tier costs the provider's own factor, and OpenAI bills flex at
  // the rate of batches. So does a dear image, unless it is billed by its tokens, of which it has more.
  if (call.upstream?.body?.outline["service_tier"] === "flex") return null;
  const isByTokens = call.model?.standard === "images" && !own.per_image && !own.per_call;
  if ((call.surcharge?.factor ?? 1) !== 1 && !isByTokens) return null;
  if (own.input !== undefined && !isReported(usage) && !isCounted(call)) return null;
  // Nothing says how many images there were.
  if (own.per_image !== undefined && usage.images === 0) return null;

  const main: Tokens = { ...usage };
  let total = 0n;
  const add = (amount: bigint, { currency }: Vector): boolean => {
    const rate = currency === "VND" ? 1 : valueOn(rates[currency], day);
    if (rate === undefined) return false;
    total += amount * BigInt(millionths(rate));
    return true;
  };
  for (const { model, ...pass } of usage.passes) {
    if (model === null || model === route.model) continue;
    const other = valueOn(models?.[model], day);
    if (!other || !add(tokenCost({ ...pass, images: 0 }, other), other)) return null;
    for (const name of [
      "inputTokens",
      "cacheReadTokens",
      "cacheWriteTokens",
      "outputTokens",
    ] as const) {
      Object.assign(main, { [name]: Math.max(0, main[name] - pass[name]) });
    }
  }
  const uses = costOfUses(usage, own);
  if (uses === undefined) return null;
  const fixed = whole(own.per_call, 1) + whole(own.per_image, usage.images);
  if (!add(tokenCost(main, own) + fixed + uses, own)) return null;
  const rounded = Number((total + DIVISOR / 2n) / DIVISOR);
  return Number.isSafeInteger(rounded) ? rounded : null;
}

function isReported(usage: Usage): boolean {
  return usage.inputReported || usage.outputReported;
}

/** Returns true if the gateway has counted the tokens of a call without a report. */
function isCounted(call: Call): boolean {
  return isBilled(call) && call.inputTokensLikely !== undefined;
}

/** Returns the cost of tokens, in millionths of a currency times 1,000,000. */
function tokenCost(tokens: Tokens, costs: Vector): bigint {
  const { input = 0, output = 0, cached_input = input, cache_write = input } = costs;
  const counts = countsOf("mtok", tokens);
  return (
    product(counts.input, input) +
    product(counts.cached_input, cached_input) +
    product(counts.cache_write, cache_write) +
    product(counts.output, output)
  );
}

/** Returns the cost of the uses of features; undefined if the cost of one is not known. */
function costOfUses({ uses = {} }: Usage, { per_use }: Vector): bigint | undefined {
  let total = 0n;
  for (const [feature, count = 0] of Object.entries(uses)) {
    if (count === 0) continue;
    const amount = per_use[feature];
    if (amount === undefined) return undefined;
    total += whole(amount, count);
  }
  return total;
}

/** Returns the cost of things that are billed one by one, on the scale of `tokenCost`. */
function whole(amount: number | undefined, count: number): bigint {
  return product(count, amount ?? 0) * 1_000_000n;
}

function product(count: number, amount: number): bigint {
  return BigInt(count) * BigInt(millionths(amount));
}
