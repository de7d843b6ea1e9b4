import {
  type Call,
  type JsonObject,
  type Model,
  mergeProfiles,
  type Protocol,
  type Refusal,
  type RequestBody,
  refuse,
  type Services,
  type UpstreamRequest,
  unchangedRequest,
} from "../../core/plugin/index.ts";
import { edited } from "./edits/index.ts";
import { withoutImages } from "./edits/media.ts";
import type { Translated } from "./notes.ts";
import { hasEncryptedReasoning, RefusableState } from "./state/refused.ts";
import { type StateSeal, summariesOf } from "./state/seal.ts";
import { openSummaries } from "./summary/request.ts";
import { routesTo } from "./targets.ts";

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
export function nativeRequest(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
): Fitted | Refusal {
  const { body } = call;
  const { protocol } = call.endpoint;
  const conversation = protocol === "responses" ? "input" : "messages";
  const reader = readerOf(model);
  const request = unchangedRequest(call);
  const readable = () => {
    const given = readableBody(body.outline, protocol, reader);
    // The facts about a conversation that is not read yet would name no compaction.
    if (protocol !== "responses" || body.turns) return given;
    return openSummaries(given, summariesOf(seal, call.key?.accountId ?? ""));
  };
  const fit = (route: Model["routes"][number]): Translated<JsonObject, undefined> => {
    const upstream = services.upstreams.get(route.upstream);
    const profile = mergeProfiles(upstream?.config.profile, route.profile);
    const edit = () => edited(readable(), protocol, profile, undefined, body);
    if (!body.turns) for (const name of body.standIns) body.read(name);
    const made = edit();
    if (!made.ok || made.body[conversation] === body.outline[conversation]) return made;
    if (body.isRead(conversation)) return made;
    // The edited turns must have their texts.
    body.read(conversation);
    return edit();
  };
  const made = routesTo(protocol, model, services).map(fit);
  const first = made.find((result) => result.ok);
  if (!first?.ok) {
    const refused = made.find((result) => !result.ok);
    if (!refused || refused.ok) return { request, dropped: [] };
    const { message, param, code } = refused.reject;
    return refuse.badRequest(message, { param, code });
  }
  const hasState =
    protocol === "responses" && mayReason(body) && hasEncryptedReasoning(body.outline);
  if (!hasState && made.every((result) => result.ok && result.body === body.outline)) {
    return { request, dropped: [] };
  }
  const state = new RefusableState();
  const bodyFor = (route: Model["routes"][number]) => {
    const result = fit(route);
    return result.ok ? state.fit(body.copy().setAll(result.body)) : undefined;
  };
  const sendsAgain = hasState ? state.sendsAgain : undefined;
  const { dropped } = first;
  const best = body.copy().setAll(first.body);
  return { request: { ...request, body: best, bodyFor, sendsAgain }, dropped };
}

/** Returns true if the conversation has items of reasoning, which are then read. */
function mayReason(body: RequestBody): boolean {
  const types = body.turns?.types;
  if (types && !types.includes("reasoning")) return false;
  if (types) body.read("input");
  return true;
}
