import {
  type Call,
  type MicroVnd,
  type Model,
  type Services,
  Tariff,
  Usage,
} from "../../core/plugin/index.ts";

/** The passes of other models: their part of the usage, and its cost. */
interface OtherPasses {
  readonly usage: Usage | undefined;
  readonly microVnd: MicroVnd;
}

const NONE: OtherPasses = { usage: undefined, microVnd: 0 };

/**
 * Returns the passes of other models that the catalogue of the hold prices, such as an advisor's, at their own
 * price with the discount of the call. Other passes cost what the model of the call costs.
 */
export function otherPasses(
  call: Call,
  { tariff, catalogue }: NonNullable<Call["held"]>,
): OtherPasses {
  const passes = call.usage?.passes;
  if (tariff.unit !== "mtok" || !passes || passes.length === 0) return NONE;
  const usage = new Usage();
  let microVnd = 0;
  for (const pass of passes) {
    const { model: name } = pass;
    const model = name === null ? undefined : otherModel(name, call, catalogue);
    if (!model) continue;
    usage.inputTokens += pass.inputTokens;
    usage.cacheReadTokens += pass.cacheReadTokens;
    usage.cacheWriteTokens += pass.cacheWriteTokens;
    usage.outputTokens += pass.outputTokens;
    const own = Tariff.of(model, tariff.discountBps, [], 0, call.surcharge?.factor);
    microVnd += own.priceOf(own.quantityOf({ ...pass, images: 0 }));
  }
  return { usage, microVnd };
}

/**
 * Finds a model by its name at the provider that reports it, else by its own. Several entries may
 * share a name there, at several prices. Returns undefined if the model of the call is one of them.
 */
function otherModel(
  name: string,
  { model, route }: Call,
  catalogue: Services["catalogue"],
): Model | undefined {
  const isThere = ({ routes }: Model) =>
    routes.some((one) => one.upstream === route?.upstream && one.model === name);
  // Compared by routes and id: a reload replaces the entries of running calls.
  if (model && isThere(model)) return undefined;
  const there = catalogue.models.filter((one) => isThere(one) && isPerToken(one));
  const named = catalogue.get(name);
  const found = named && there.includes(named) ? named : (there[0] ?? named);
  return found && isPerToken(found) && found.id !== model?.id ? found : undefined;
}

const isPerToken = ({ price }: Model): boolean => price.unit === "mtok";
