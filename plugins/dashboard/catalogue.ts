import {
  type Model,
  type PlainRequest,
  type PlainResponse,
  type Services,
  statedOf,
} from "../../core/plugin/index.ts";
import { type Asset, respond, textAsset } from "../page-parts/asset.ts";

/**
 * `GET /account/v1/catalogue`: the models with prices and limits. Needs no session, because prices
 * are public.
 */
export function catalogueHandler(
  services: Services,
  popular: readonly string[],
): (request: PlainRequest) => PlainResponse {
  // A reload and a change of prices replace the catalogue, so the reply is cached per catalogue.
  const made = new WeakMap<Services["catalogue"], Asset>();
  return (request) => {
    const { catalogue } = services;
    let asset = made.get(catalogue);
    if (!asset) {
      const models = catalogue.models.map(entry);
      const known = popular.filter((id) => catalogue.get(id));
      asset = textAsset("application/json", JSON.stringify({ models, popular: known }), "no-cache");
      made.set(catalogue, asset);
    }
    return respond(asset, request);
  };
}

function entry({ id, price, next, channel, labels, standard, ...limits }: Model): object {
  return {
    id,
    standard,
    channel,
    labels: [...labels],
    context_window: limits.contextWindow ?? null,
    max_input_tokens: limits.inputTokensMax ?? null,
    max_output_tokens: limits.maxOutputTokens ?? null,
    price_unit: price.unit,
    ...amounts(price),
    next_price: next ? { from: new Date(next.fromMs).toISOString(), ...amounts(next.price) } : null,
  };
}

function amounts({ vnd, factors }: Model["price"]): object {
  return { price_vnd: vnd, price_factors: statedOf(factors) ?? {} };
}
