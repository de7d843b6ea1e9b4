import type { Catalogue, Model } from "./catalogue.ts";
import type { Endpoint } from "./endpoint.ts";
import { type Refusal, refuse } from "./refusal.ts";

export interface NamedModel {
  readonly model: Model;
  /** What the reply says of the name, name and value in turn. */
  readonly headers: readonly string[];
}

/**
 * How names that callers send become models. Whichever plugin knows more than the names of the catalogue (aliases,
 * fallbacks) puts its own way in this place, so that others name models the same way without knowing that plugin.
 */
export interface ModelNames {
  /** The model of a name at an endpoint, or the refusal that a call with it gets there. */
  resolve(name: unknown, endpoint: Endpoint): NamedModel | Refusal;
}

/** Names of the catalogue and no others. */
export function exactNames(catalogue: () => Catalogue): ModelNames {
  return {
    resolve(name) {
      const model = typeof name === "string" ? catalogue().get(name) : undefined;
      return model ? { model, headers: [] } : unknownModel();
    },
  };
}

export function unknownModel(): Refusal {
  const message = "There is no model of this name here: GET /v1/models lists the names.";
  return refuse.notFound(message, { param: "model", code: "model_not_found" });
}
