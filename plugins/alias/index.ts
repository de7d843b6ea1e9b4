import {
  type Call,
  hasRoute,
  isRefusal,
  type Model,
  modelNamesBy,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { familiesOf } from "./families.ts";
import { nearest } from "./nearest.ts";
import type { Settings } from "./options.ts";
import { spellings } from "./spellings.ts";

type Endpoint = Pick<Call["endpoint"], "protocol" | "serves">;

export { options } from "./options.ts";
export { review } from "./review.ts";
export const sets = ["model"];
export const provides = ["modelNames"];
export const reads = ["catalogue", "headers"];

/** Resolves the requested name to a model of the catalogue. Refuses a model that does not fit the endpoint or request. */
export default function alias(services: Services, settings: Settings): Plugin {
  const { config, catalogue } = services;
  // A reload may add the plugin that translates, or leave it out.
  const isTranslated = () =>
    services.config.plugins.some(({ module }) => module.sets?.includes("upstream"));
  const { prefix } = config.headers;
  const { ids, defaultName } = familiesOf(settings, catalogue);
  const modelOfFamily = (name: string) => catalogue.get(ids.get(name) ?? "");
  // All models, including those that the catalogue withholds.
  const all = [...catalogue.models, ...catalogue.notOffered];
  const byLowerCase = new Map(all.map(({ id }) => [id.toLowerCase(), id]));
  const idOf = (spelling: string) => byLowerCase.get(spelling) ?? ids.get(spelling);
  const top = settings.unknown === "top" ? modelOfFamily(defaultName ?? "") : undefined;

  /** Returns the model that an endpoint serves for its name without `req/`: of chat, that is a model at another price. */
  function bare(name: string, endpoint: Endpoint): Model | undefined {
    const model = endpoint.serves.includes("chat") ? undefined : catalogue.get(`req/${name}`);
    return model && endpoint.serves.includes(model.standard) ? model : undefined;
  }

  /** Returns the model for unknown names: that of the default family, or the dearest that this endpoint serves. */
  function topAt(endpoint: Endpoint): Model | undefined {
    if (!top || !endpoint.serves.includes("chat")) return undefined;
    const isServed = (model: Model) =>
      isTranslated() ||
      endpoint.protocol !== "responses" ||
      hasRoute(model, "responses", services.upstreams);
    if (isServed(top)) return top;
    const [dearest] = catalogue.models
      .filter((model) => model.price.unit === "mtok" && isServed(model))
      .sort((a, b) => b.price.vnd - a.price.vnd);
    return dearest;
  }

  function find(name: string, endpoint: Endpoint): Model | undefined {
    const known = catalogue.get(name) ?? modelOfFamily(name) ?? bare(name, endpoint);
    if (known) return known;
    // Another model, at another price, must not replace one that the caller has named correctly.
    if (catalogue.withholds(ids.get(name) ?? name)) return undefined;
    for (const spelling of spellings(name, settings)) {
      const id = idOf(spelling);
      const meant = id === undefined ? bare(spelling, endpoint) : catalogue.get(id);
      if (meant || id !== undefined) return meant;
    }
    return topAt(endpoint);
  }

  const names = modelNamesBy({
    find,
    serves: ({ serves }) => catalogue.models.some(({ standard }) => serves.includes(standard)),
    nearest: (name, endpoint) => nearest(name, endpoint, catalogue.models),
    headers(model, name) {
      const headers = [`${prefix}model`, model.id];
      if (model.id !== name) headers.push(`${prefix}model-mapped-from`, printable(name));
      return headers;
    },
  });

  return {
    name: "alias",

    async start() {
      services.modelNames.provide(names);
    },

    request(call) {
      const name = call.body.read("model");
      const named = names.resolve(name, call.endpoint, call.key);
      if (isRefusal(named)) return named;
      const { model, headers } = named;
      call.model = model;
      for (const part of headers) call.replyHeaders.push(part);
      if (model.id !== name) call.mappedFrom = String(name);
      return undefined;
    },
  };
}

/** Percent-encodes a name with other characters than printable ASCII, which headers do not allow. */
function printable(name: string): string {
  return /^[\x21-\x7e]*$/.test(name) ? name : encodeURIComponent(Buffer.from(name).toString());
}
