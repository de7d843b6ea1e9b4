import type { Model } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import { type Endpoint, endpoints } from "../catalogue/endpoint.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { endsWithImage, imagesIn } from "../wire/vision.ts";
import type { Call } from "./call.ts";
import { headToRead } from "./passed-request.ts";
import type { Upstreams } from "./upstreams.ts";

/** Returns true if an upstream of the model takes calls of the protocol. */
export function hasRoute(model: Model, protocol: Protocol, upstreams: Upstreams): boolean {
  return model.routes.some(({ upstream }) => upstreams.get(upstream)?.speaks(protocol));
}

/**
 * Returns the paths that serve a model. Without translation, only the path of its own protocol
 * serves a chat model.
 */
export function pathsOf(model: Model, upstreams: Upstreams, isTranslated: boolean): string[] {
  const { standard } = model;
  return endpoints
    .filter(({ protocol, serves }) => {
      if (!serves.includes(standard)) return false;
      if (protocol === "responses") return isTranslated || hasRoute(model, protocol, upstreams);
      return isTranslated || protocol === standard;
    })
    .map(({ path }) => path);
}

/** Refuses a model that this endpoint does not serve, and names the endpoint that does. */
export function unfitFor(endpoint: Endpoint, model: Model): Refusal | undefined {
  if (endpoint.serves.includes(model.standard)) return undefined;
  return refuse.badRequest(`model: ${model.id} ${whereToGo(model)}`, "model");
}

/** Refuses a call that asks for what its model lacks: streaming, or reading images. */
export function beyond(model: Model, call: Call): Refusal | undefined {
  if (call.stream && model.standard !== "speech" && !model.labels.has("streaming")) {
    return refuse.badRequest(`stream: ${model.id} cannot be streamed`, "stream");
  }
  const { protocol } = call.endpoint;
  const param = protocol === "responses" ? "input" : "messages";
  if (!model.labels.has("vision")) {
    // Translation replaces images of earlier turns by a line of text. Refusing them here would end
    // the conversation.
    if (!endsWithImage(headToRead(call), protocol)) return undefined;
    const message = `${model.id} cannot read images: choose a model labelled vision`;
    return refuse.badRequest(message, param);
  }
  const images = imagesIn(headToRead(call), protocol);
  if (images === "none" || images === "readable") return undefined;
  if (images === "broken") return refuse.badRequest(`${param}: an image is not base64`, param);
  return refuse.badRequest(`${param}: images must be PNG, JPEG, WebP or GIF`, param);
}

function whereToGo(model: Model): string {
  switch (model.standard) {
    case "images":
      return "makes images: use /v1/images/generations or /v1/images/edits";
    case "speech":
      return "speaks text: use /v1/audio/speech";
    default:
      return "is a chat model: use /v1/messages or /v1/chat/completions";
  }
}
