import type { Catalogue, Model } from "../catalogue/catalogue.ts";
import { type Endpoint as CallEndpoint, endpoints, type Protocol } from "../catalogue/endpoint.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { endsWithImage, imageFault } from "../wire/vision.ts";
import type { Call } from "./call.ts";
import type { Upstreams } from "./config.ts";

/** The parts of an endpoint that decide which models it serves. */
type Endpoint = Pick<CallEndpoint, "protocol" | "serves">;

interface NamedModel {
  readonly model: Model;
  /** Response headers that describe the resolved model: name, value, name, value. */
  readonly headers: readonly string[];
}

/** Resolves the names that callers send to models: the slot `modelNames`. */
export interface ModelNames {
  /** Returns the model of a name at an endpoint, or the refusal that a call of this key with this name gets there. */
  resolve(name: unknown, endpoint: Endpoint, key?: Call["key"]): NamedModel | Refusal;
}

/** Finds models by the names that callers send. */
interface ModelFinder {
  /** Returns the model that a name means at an endpoint; undefined if it means none. */
  find(name: string, endpoint: Endpoint): Model | undefined;
  /** Returns false if no model on offer fits the endpoint. */
  serves(endpoint: Endpoint): boolean;
  /** Returns ids that the caller may have meant by an unknown name, the nearest first. */
  nearest?(name: string, endpoint: Endpoint): readonly string[];
  /** Returns response headers that describe the model: name, value, name, value. */
  headers?(model: Model, name: string): readonly string[];
}

/** Returns names by a finder. Refuses what is no name, an unknown one, and a model that endpoint or key does not serve. */
export function modelNamesBy(finder: ModelFinder): ModelNames {
  return {
    resolve(name, endpoint, key) {
      if (!isModelName(name)) {
        return refuse.badRequest("model: the name of a model is required", "model");
      }
      const model = finder.find(name, endpoint);
      if (!model) {
        return finder.serves(endpoint)
          ? unknownModel(finder.nearest?.(name, endpoint))
          : noModelFor(endpoint);
      }
      return (
        unfitFor(endpoint, model) ??
        key?.limits?.refusalOf(model.id) ?? { model, headers: finder.headers?.(model, name) ?? [] }
      );
    },
  };
}

/** Returns names that resolve only ids of the catalogue. */
export function exactNames(catalogue: () => Catalogue): ModelNames {
  return modelNamesBy({
    find: (name) => catalogue().get(name),
    serves: ({ serves }) => catalogue().models.some(({ standard }) => serves.includes(standard)),
  });
}

const MODEL_CHARACTERS_MAX = 256;

export function isModelName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name.length <= MODEL_CHARACTERS_MAX;
}

/** Returns the refusal for an unknown model, 404. `nearest` lists ids that the caller may have meant. */
function unknownModel(nearest: readonly string[] = []): Refusal {
  const advice = nearest.length === 0 ? "" : ` The nearest names are ${nearest.join(", ")}.`;
  const message = `There is no model of this name here: GET /v1/models lists the names.${advice}`;
  return refuse.notFound(message, { param: "model", code: "model_not_found" });
}

function noModelFor({ serves }: Endpoint): Refusal {
  const message = `No model on offer here is for ${serves.join(" or ")}: GET /v1/models lists all models, with their endpoints.`;
  return refuse.notFound(message, { param: "model", code: "model_not_found" });
}

/** Returns true if an upstream of the model takes calls of the protocol. */
export function hasRoute(model: Model, protocol: Protocol, upstreams: Upstreams): boolean {
  return model.routes.some(({ upstream }) => upstreams.get(upstream)?.speaks(protocol));
}

/** Returns the paths that serve a model. Without translation, only the path of its own protocol serves a chat model. */
export function pathsOf(model: Model, upstreams: Upstreams, isTranslated: boolean): string[] {
  const { standard } = model;
  return endpoints
    .filter(({ protocol, isStandard, serves }) => {
      if (!serves.includes(standard)) return false;
      if (isTranslated) return true;
      return isStandard ? protocol === standard : hasRoute(model, protocol, upstreams);
    })
    .map(({ path }) => path);
}

/** Refuses a model that this endpoint does not serve, and names the endpoint that does. */
function unfitFor(endpoint: Endpoint, model: Model): Refusal | undefined {
  if (endpoint.serves.includes(model.standard)) return undefined;
  return refuse.badRequest(`model: ${model.id} ${WHERE_TO_GO[model.standard]}`, "model");
}

/** Refuses a call that asks for what its model lacks: streaming, or reading images. */
export function beyond(model: Model, call: Call): Refusal | undefined {
  if (call.stream && model.standard !== "speech" && !model.labels.has("streaming")) {
    return refuse.badRequest(`stream: ${model.id} cannot be streamed`, "stream");
  }
  const { protocol, conversation: param = "messages" } = call.endpoint;
  if (!model.labels.has("vision")) {
    // Translation replaces images of earlier turns by a line of text. Refusing them here would end the conversation.
    if (!endsWithImage(call.body.outline, protocol)) return undefined;
    const message = `${model.id} cannot read images: choose a model labelled vision`;
    return refuse.badRequest(message, param);
  }
  const fault = imageFault(call.body.outline, protocol);
  if (fault === undefined) return undefined;
  if (fault === "broken") return refuse.badRequest(`${param}: an image is not base64`, param);
  return refuse.badRequest(`${param}: images must be PNG, JPEG, WebP or GIF`, param);
}

const WHERE_TO_GO = {
  images: "makes images: use /v1/images/generations or /v1/images/edits",
  speech: "speaks text: use /v1/audio/speech",
  embeddings: "makes embeddings: use /v1/embeddings",
  chat: "is a chat model: use /v1/messages or /v1/chat/completions",
  messages: "is a chat model: use /v1/messages or /v1/chat/completions",
} as const satisfies Readonly<Record<Model["standard"], string>>;
