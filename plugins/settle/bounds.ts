import { type Call, countOf, type Model, type Tariff } from "../../core/contract/index.ts";

/** Used for a model whose catalogue entry has no `max_output_tokens`. */
const OUTPUT_TOKENS_DEFAULT = 32_000;

/** Returns the most output tokens of a call: its own limit, at most the model's. */
export function outputTokensMax(limit: number | undefined, model: Model): number {
  const most = model.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT;
  return limit === undefined ? most : Math.min(limit, most);
}

/** Returns the units to hold for a call that is not priced per token. */
export function fixedUnits(call: Call, tariff: Tariff): number {
  return tariff.unit === "image" ? (countOf(call.body["n"]) ?? 1) : 1;
}
