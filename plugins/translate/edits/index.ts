import type { JsonObject, Profile, Protocol, RequestBody } from "../../../core/plugin/index.ts";
import { Notes, type Translated } from "../notes.ts";
import { PROTOCOLS } from "../protocols.ts";
import { Draft } from "./draft.ts";

/**
 * Edits a request in the model's own protocol to the form that the model accepts, by its profile:
 * single fields and entries. A hint that the model does not accept is dropped and named, a demand
 * refused. Returns the given body if nothing has to change. `client` is the protocol of a
 * translated request's client; undefined for a request that is passed. `source`: the body that is edited, of which `body` may lack the conversation.
 */
export function edited(
  body: JsonObject,
  protocol: Protocol,
  profile: Profile,
  client?: Protocol,
  source?: RequestBody,
): Translated<JsonObject, undefined> {
  const notes = new Notes();
  const draft = new Draft(body, profile, notes, client && PROTOCOLS[client]?.names, source);
  PROTOCOLS[protocol]?.edit(draft);
  if (notes.rejected) return { ok: false, reject: notes.rejected };
  return { ok: true, body: draft.body, dropped: notes.dropped, context: undefined };
}
