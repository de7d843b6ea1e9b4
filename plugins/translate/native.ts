import {
  type Call,
  type JsonObject,
  type Model,
  mergeProfiles,
  type Refusal,
  type Route,
  refuse,
  type Services,
  type UpstreamRequest,
  unchangedRequest,
} from "../../core/contract/index.ts";
import { edited } from "./edits/index.ts";
import { withoutImages } from "./edits/media.ts";
import type { Translated } from "./notes.ts";

/** Returns the client's body, without the images of earlier turns if the model cannot read them. */
export function readableBody({ body, endpoint }: Call, model: Model): JsonObject {
  if (model.labels.has("vision")) return body;
  return withoutImages(body, endpoint.protocol === "responses" ? "input" : "messages", model.id);
}

/** A request in the model's own protocol, and the hints that the model does not take. */
interface Fitted {
  readonly request: UpstreamRequest;
  readonly dropped: readonly string[];
}

/**
 * Edits the request of a client that speaks the model's protocol, for the best route that can
 * express it. Passes a body without an edit as it is. Refuses a demand that no route can meet.
 */
export function nativeRequest(call: Call, model: Model, services: Services): Fitted | Refusal {
  const { protocol } = call.endpoint;
  const request = unchangedRequest(call);
  const body = readableBody(call, model);
  const fit = (route: Route): Translated<JsonObject, undefined> => {
    const upstream = services.upstreams.get(route.upstream);
    return edited(body, protocol, mergeProfiles(upstream?.config.profile, route.profile));
  };
  const routes = model.routes
    .filter((route) => services.upstreams.get(route.upstream)?.speaks(protocol))
    .sort((a, b) => a.priority - b.priority);
  const made = routes.map(fit);
  const first = made.find((result) => result.ok);
  if (!first?.ok) {
    const refused = made.find((result) => !result.ok);
    if (!refused || refused.ok) return { request, dropped: [] };
    const { message, param, code } = refused.reject;
    return refuse.badRequest(message, { param, code });
  }
  if (made.every((result) => result.ok && result.body === call.body)) {
    return { request, dropped: [] };
  }
  const bodyFor = (route: Route) => {
    const result = fit(route);
    // A copy, because the exchange sets the model name in the body.
    return result.ok ? { ...result.body } : undefined;
  };
  return { request: { ...request, body: { ...first.body }, bodyFor }, dropped: first.dropped };
}
