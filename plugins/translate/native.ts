import {
  type Call,
  headToRead,
  type JsonObject,
  type Model,
  mergeProfiles,
  type Outline,
  PassedRequest,
  type Protocol,
  type Refusal,
  refuse,
  type Services,
  type UpstreamRequest,
  unchangedRequest,
} from "../../core/plugin/index.ts";
import { edited } from "./edits/index.ts";
import { withoutImages } from "./edits/media.ts";
import type { Translated } from "./notes.ts";
import { hasEncryptedReasoning, RefusableState } from "./state/refused.ts";

/** A model, as far as a request must fit it. Plain data. */
export interface Reader {
  readonly id: string;
  readonly seesImages: boolean;
}

export function readerOf({ id, labels }: Model): Reader {
  return { id, seesImages: labels.has("vision") };
}

/** Returns the client's body, without the images of earlier turns if the model cannot read them. */
export function readableBody(body: JsonObject, protocol: Protocol, reader: Reader): JsonObject {
  if (reader.seesImages) return body;
  return withoutImages(body, protocol === "responses" ? "input" : "messages", reader.id);
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
  const reader = readerOf(model);
  const given = headToRead(call);
  const request = unchangedRequest(call);
  let body = readableBody(given, protocol, reader);
  const fit = (route: Model["routes"][number]): Translated<JsonObject, undefined> => {
    const upstream = services.upstreams.get(route.upstream);
    const profile = mergeProfiles(upstream?.config.profile, route.profile);
    const made = edited(body, protocol, profile, protocol, call.outline);
    if (!call.outline || !made.ok || !movesText(call.outline, made.body)) return made;
    call.outline.fill();
    body = readableBody(given, protocol, reader);
    return edited(body, protocol, profile, protocol, call.outline);
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
  const hasState = protocol === "responses" && mayReason(call) && hasEncryptedReasoning(given);
  if (!hasState && made.every((result) => result.ok && result.body === given)) {
    return { request, dropped: [] };
  }
  const state = new RefusableState();
  const treeFor = (route: Model["routes"][number]) => {
    if (state.isRefused && call.outline) {
      call.outline.fill();
      body = readableBody(given, protocol, reader);
    }
    const result = fit(route);
    // A copy, because the exchange sets the model name in the body.
    return result.ok ? { ...state.fit(result.body) } : undefined;
  };
  const sendsAgain = hasState ? state.sendsAgain : undefined;
  const { dropped } = first;
  const tree = { ...first.body };
  if (!request.passed) {
    return { request: { ...request, body: tree, bodyFor: treeFor, sendsAgain }, dropped };
  }
  const { path, headers } = request;
  const passed = { outline: request.passed.outline, tree, treeFor };
  return { request: new PassedRequest(protocol, path, headers, passed, sendsAgain), dropped };
}

/** Returns true if the conversation has items of reasoning, which are then read. */
function mayReason({ outline }: Call): boolean {
  const types = outline?.unread?.turns.types;
  if (types && !types.includes("reasoning")) return false;
  outline?.read();
  return true;
}

/**
 * Returns true if an edited field has a text that was left out. The text must be present to be
 * written.
 */
function movesText(outline: Outline, body: JsonObject): boolean {
  for (const name in body) {
    if (body[name] !== outline.head[name] && outline.hasPlaceholder(body[name])) return true;
  }
  return false;
}
