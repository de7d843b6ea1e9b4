import type { Call, Delivered, Pass, Usage } from "../../core/contract/index.ts";
import { type Factors, textTokens } from "./bound.ts";

/**
 * A reported end of the output is believed over so many tokens more: an estimate is no better than
 * that. A reported zero is a zero only if hardly more was delivered.
 */
const TOKENS_BELIEVED = 16;

/** Returns the estimated tokens of output. */
export function outputTokensOf(delivered: Delivered, factors: Factors): number {
  const { images, mediaBytes } = delivered;
  return Math.ceil(
    textTokens(delivered, factors) +
      images * factors.imageTokens +
      mediaBytes / factors.documentBytesPerToken,
  );
}

/**
 * Fills in what the provider has not reported: the likely input, and what was delivered after its
 * last report. Returns true if it did.
 */
export function fillIn(call: Call, usage: Usage): boolean {
  const { inputTokensLikely: input, deliveredTokens } = call;
  // Images and speech are not priced per token.
  if (input === undefined || usage.totalOnly) return false;
  let estimated = false;
  if (!usage.inputReported) {
    usage.inputTokens = input + sum(usage.passes, "inputTokens");
    estimated = true;
  }
  if (!usage.outputReported) {
    const output = deliveredTokens + sum(usage.passes, "outputTokens");
    usage.outputTokens = Math.max(usage.outputTokens, output);
    return true;
  }
  const missed = deliveredTokens - (usage.outputTokens > 0 ? usage.deliveredAtReport : 0);
  // A provider that ends its stream has counted it, give or take.
  const believed = call.outcome === "complete" ? TOKENS_BELIEVED : 0;
  if (missed <= believed) return estimated;
  usage.outputTokens += missed;
  return true;
}

function sum(passes: readonly Pass[], part: "inputTokens" | "outputTokens"): number {
  return passes.reduce((total, pass) => total + pass[part], 0);
}
