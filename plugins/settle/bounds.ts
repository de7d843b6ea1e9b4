import { type Call, countOf, type Model, type Tariff } from "../../core/contract/index.ts";

/** Output of a model whose catalogue entry names no maximum. */
const OUTPUT_TOKENS_DEFAULT = 32_000;

/** The most output that a call may produce: what it asks for, within what the model can. */
export function outputTokensMax(limit: number | undefined, model: Model): number {
  const most = model.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT;
  return limit === undefined ? most : Math.min(limit, most);
}

/** Units that are held for a call that is not priced by the token. */
export function fixedUnits(call: Call, tariff: Tariff): number {
  return tariff.unit === "image" ? (countOf(call.body["n"]) ?? 1) : 1;
}
