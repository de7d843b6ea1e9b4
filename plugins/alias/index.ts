import {
  beyond,
  type ConfigKey,
  type Endpoint,
  type Field,
  isModelName,
  isRefusal,
  type Model,
  modelNameRequired,
  type NamedModel,
  type Plugin,
  type Refusal,
  type Services,
  type SlotName,
  text,
  unfitFor,
  unknownModel,
  v,
} from "../../core/contract/index.ts";
import { familiesOf } from "./families.ts";

export { review } from "./review.ts";
export const sets: readonly Field[] = ["model"];
export const provides: readonly SlotName[] = ["modelNames"];
export const reads: readonly ConfigKey[] = ["catalogue", "headers"];

export const options = v.strictObject({
  /** Family whose model serves names that nothing else serves. Default: `opus` if there is one, else the first. */
  default_family: v.optional(text("the name of one of the families")),
  /** Short names of families, and the model that each stands for. Default: the newest of each in the catalogue. */
  families: v.optional(v.record(v.string(), text("the id of a model in the catalogue"))),
  /** `top`: unknown names of chat models go to the default family; `refuse`: they are answered with 404. */
  unknown: v.optional(v.picklist(["top", "refuse"], "one of top, refuse"), "top"),
});

export type Settings = v.InferOutput<typeof options>;

/** Turns the name that a caller sent into a model of the catalogue; refuses what it cannot be used for here. */
export default function alias(services: Services, settings: Settings): Plugin {
  const { config, catalogue } = services;
  const { prefix } = config.headers;
  const { ids, defaultName } = familiesOf(settings, catalogue);
  const modelOfFamily = (name: string) => catalogue.get(ids.get(name) ?? "");
  const top = settings.unknown === "top" ? modelOfFamily(defaultName ?? "") : undefined;

  function modelOf(name: string, endpoint: Endpoint): Model | Refusal {
    const known = catalogue.get(name) ?? modelOfFamily(name);
    if (known) return known;
    return top && endpoint.serves.includes("chat") ? top : unknownModel();
  }

  function resolve(name: unknown, endpoint: Endpoint): NamedModel | Refusal {
    if (!isModelName(name)) return modelNameRequired();
    const model = modelOf(name, endpoint);
    if (isRefusal(model)) return model;
    const unfit = unfitFor(endpoint, model);
    if (unfit) return unfit;
    const headers = [`${prefix}model`, model.id];
    if (model.id !== name) headers.push(`${prefix}model-mapped-from`, printable(name));
    return { model, headers };
  }

  return {
    name: "alias",

    async start() {
      services.modelNames.provide({ resolve });
    },

    request(call) {
      const named = resolve(call.body["model"], call.endpoint);
      if (isRefusal(named)) return named;
      const { model, headers } = named;
      const refusal = beyond(model, call);
      if (refusal) return refusal;
      call.model = model;
      for (const part of headers) call.replyHeaders.push(part);
      if (model.id !== call.body["model"]) call.mappedFrom = String(call.body["model"]);
      return undefined;
    },
  };
}

/** A header carries printable ASCII only; the rest of a name is shown percent-encoded. */
function printable(name: string): string {
  return /^[\x21-\x7e]*$/.test(name) ? name : encodeURIComponent(Buffer.from(name).toString());
}
