import {
  type Call,
  type Catalogue,
  type Held,
  type MicroVnd,
  type Model,
  priceOf,
} from "../../core/contract/index.ts";

/** What passes of other models cost. They are part of the usage, and not of the priced quantity. */
interface OtherPasses {
  readonly tokens: number;
  readonly microVnd: MicroVnd;
}

/**
 * Returns the passes of other models that the catalogue prices, such as an advisor's, at their own
 * price with the discount of the call. Other passes cost what the model of the call costs.
 */
export function otherPasses(call: Call, { tariff }: Held, catalogue: Catalogue): OtherPasses {
  let tokens = 0;
  let microVnd = 0;
  if (tariff.unit !== "mtok") return { tokens, microVnd };
  for (const { model: name, inputTokens, outputTokens } of call.usage?.passes ?? []) {
    const model = name === null ? undefined : modelOf(name, call, catalogue);
    if (!model || model === call.model) continue;
    const price = Math.ceil(model.price.microVnd * (call.surcharge?.factor ?? 1));
    const { discountBps } = tariff;
    tokens += inputTokens + outputTokens;
    microVnd += priceOf(inputTokens + outputTokens, { microVnd: price, discountBps });
  }
  return { tokens, microVnd };
}

/** Finds a model by its name at the provider that reports it, else by its own. */
function modelOf(name: string, { route }: Call, catalogue: Catalogue): Model | undefined {
  const there = catalogue.models.filter((model) =>
    model.routes.some(({ upstream, model }) => upstream === route?.upstream && model === name),
  );
  const model = there.find(isPerToken) ?? catalogue.get(name);
  return model && isPerToken(model) ? model : undefined;
}

const isPerToken = ({ price }: Model): boolean => price.unit === "mtok";
