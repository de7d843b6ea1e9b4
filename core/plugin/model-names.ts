import type { Catalogue, Model } from "../catalogue/catalogue.ts";
import type { Endpoint } from "../catalogue/endpoint.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { unfitFor } from "./model-fit.ts";

export interface NamedModel {
  readonly model: Model;
  /** Response headers that describe the resolved model: name, value, name, value. */
  readonly headers: readonly string[];
}

/** Resolves the names that callers send to models: the slot `modelNames`. */
export interface ModelNames {
  /**
   * Returns the model of a name at an endpoint, or the refusal that a call with this name gets
   * there.
   */
  resolve(name: unknown, endpoint: Endpoint): NamedModel | Refusal;
}

/** Returns names that resolve only ids of the catalogue. */
export function exactNames(catalogue: () => Catalogue): ModelNames {
  return {
    resolve(name, endpoint) {
      if (!isModelName(name)) return modelNameRequired();
      const model = catalogue().get(name);
      if (!model) return unknownModel();
      return unfitFor(endpoint, model) ?? { model, headers: [] };
    },
  };
}

const MODEL_CHARACTERS_MAX = 256;

export function isModelName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name.length <= MODEL_CHARACTERS_MAX;
}

export function modelNameRequired(): Refusal {
  return refuse.badRequest("model: the name of a model is required", "model");
}

/**
 * Returns the refusal for an unknown model, 404. `nearest` lists ids that the caller may have
 * meant.
 */
export function unknownModel(nearest: readonly string[] = []): Refusal {
  const advice = nearest.length === 0 ? "" : ` The nearest names are ${nearest.join(", ")}.`;
  const message = `There is no model of this name here: GET /v1/models lists the names.${advice}`;
  return refuse.notFound(message, { param: "model", code: "model_not_found" });
}
