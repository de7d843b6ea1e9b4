import type { Call, Model, Usage } from "../../core/plugin/index.ts";

/** A report this many times above the limits of its model is a fault of the provider, not a long call. */
const TIMES_MAX = 10;
/** Used for a model whose catalogue entry has no `context_window` or `max_output_tokens`. */
const CONTEXT_TOKENS_DEFAULT = 1_000_000;
const OUTPUT_TOKENS_DEFAULT = 32_000;

/** Reported numbers that were withdrawn because no call of the model can have them. */
type Withdrawn = Readonly<Partial<Record<"inputTokens" | "outputTokens", number>>>;

/**
 * Withdraws reported numbers that no call of this model can have: they count as not reported. Without this, one wrong
 * number would empty a wallet, or cost more than an amount can express. Returns them; undefined if there are none.
 */
export function withdrawImplausible(
  usage: Usage,
  model: Model,
  choices: number,
): Withdrawn | undefined {
  const inputMax = TIMES_MAX * (inputTokensMax(model, choices) ?? CONTEXT_TOKENS_DEFAULT);
  const outputMax = TIMES_MAX * choices * (model.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT);
  const { inputTokens, outputTokens } = usage;
  const input = inputTokens > inputMax;
  const output = outputTokens > outputMax;
  if (input) {
    usage.inputTokens = 0;
    usage.inputReported = false;
  }
  if (output) {
    usage.outputTokens = 0;
    usage.outputReported = false;
  }
  // Parts of the input and of the output, which are recorded and not billed again.
  if (input || usage.cacheReadTokens > inputMax) usage.cacheReadTokens = 0;
  if (input || usage.cacheWriteTokens > inputMax) usage.cacheWriteTokens = 0;
  if (output || usage.reasoningTokens > outputMax) usage.reasoningTokens = 0;
  if (!input && !output) return undefined;
  // The sum of the passes is in the number that is withdrawn.
  usage.passes = [];
  return { ...(input && { inputTokens }), ...(output && { outputTokens }) };
}

/** Returns the most input tokens that a call can have. Each text of a call for embeddings has a window of its own. */
export function inputTokensMax(
  { contextWindow, standard }: Model,
  choices: number,
): number | undefined {
  if (contextWindow === undefined) return undefined;
  return standard === "embeddings" ? contextWindow * choices : contextWindow;
}

/** Checks the usage that was reported for a call. Marks the call as estimated if a number was withdrawn. */
export type UsageCheck = (call: Call) => void;
