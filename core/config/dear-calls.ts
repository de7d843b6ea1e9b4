import { type Catalogue, type Model, outputTokensMax, type Route } from "../catalogue/catalogue.ts";
import { ONE } from "../catalogue/price-factors.ts";

/** Maximum number of models in a warning. */
const NAMED_MAX = 5;

/**
 * Returns a line that names the models priced per call whose calls can cost more than they bring; undefined if there are
 * none. The cost is estimated by the price per token of an entry with the same route, for the most tokens of a call.
 */
export function dearCalls({ models, notOffered }: Catalogue): string | undefined {
  const all = [...models, ...notOffered];
  const dear = all.flatMap((model) => {
    const most = mostVndOf(model, all);
    const bringsVnd = (model.price.vnd * model.price.factors.per_call) / ONE;
    if (model.price.unit !== "call" || most === undefined || most <= bringsVnd) return [];
    return `${model.id} (up to ${Math.ceil(most)} đ for ${bringsVnd} đ)`;
  });
  if (dear.length === 0) return undefined;
  const others = dear.length > NAMED_MAX ? ` and ${dear.length - NAMED_MAX} more` : "";
  return (
    "by the prices per token of the same routes, a call can cost more than it brings: " +
    `${dear.slice(0, NAMED_MAX).join(", ")}${others}; lower input_tokens_max and max_output_tokens`
  );
}

/** Returns the đ that the largest call of a model costs by the token; undefined if no entry has such a price. */
function mostVndOf(model: Model, all: readonly Model[]): number | undefined {
  const output = outputTokensMax(undefined, model);
  const window = model.contextWindow ?? Number.POSITIVE_INFINITY;
  const input = Math.min(model.inputTokensMax ?? window, window - output);
  const costs = all
    .filter(({ price, routes }) => price.unit === "mtok" && shareRoute(routes, model.routes))
    .map(
      ({ price: { vnd, factors } }) =>
        (vnd * (input * factors.input + output * factors.output)) / ONE / ONE,
    );
  return costs.length === 0 ? undefined : Math.min(...costs);
}

function shareRoute(some: readonly Route[], others: readonly Route[]): boolean {
  return some.some(({ upstream, model }) =>
    others.some((other) => other.upstream === upstream && other.model === model),
  );
}
