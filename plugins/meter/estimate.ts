import type { Call, Delivered, Model, Usage } from "../../core/plugin/index.ts";
import { type Factors, textTokens } from "./bound.ts";

/**
 * A provider's final report of the output is charged if the gateway counted at most this many more
 * tokens: its count is an estimate. So a reported zero is charged only if hardly anything was delivered.
 */
const ESTIMATE_ERROR_TOKENS = 16;

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
 * Fills in numbers that the provider has not reported: the likely input, and the output delivered
 * after the last report. Returns true if it did.
 */
export function fillIn(call: Call, usage: Usage): boolean {
  const { inputTokensLikely: input, deliveredTokens } = call;
  // Images and speech are not priced per token.
  if (input === undefined) return false;
  if (usage.totalOnly) return splitTotal(usage, deliveredTokens, call.model);
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
  // A provider that completes its stream has counted the output, with a small error.
  const tolerance =
    call.outcome === "complete" || call.outcome === "left" ? ESTIMATE_ERROR_TOKENS : 0;
  if (missed <= tolerance) return estimated;
  usage.outputTokens += missed;
  return true;
}

/**
 * Counts the delivered part of a total as output, if that has another price than input. Returns true if it did: how much
 * of the total is output is an estimate.
 */
function splitTotal(usage: Usage, deliveredTokens: number, model: Model | undefined): boolean {
  const { input, output } = model?.price.factors ?? {};
  if (input === output) return false;
  const total = usage.inputTokens + usage.outputTokens;
  usage.outputTokens = Math.min(deliveredTokens, total);
  usage.inputTokens = total - usage.outputTokens;
  return true;
}

function sum(
  passes: readonly Usage["passes"][number][],
  part: "inputTokens" | "outputTokens",
): number {
  return passes.reduce((total, pass) => total + pass[part], 0);
}
