import type { JsonObject, Profile, Protocol } from "../../../core/contract/index.ts";
import { Notes, type Translated } from "../notes.ts";
import { editChat } from "./chat.ts";
import { Draft } from "./draft.ts";
import { editMessages } from "./messages.ts";
import { editResponses } from "./responses.ts";

/** The client's names of the fields that a translation renames, by the client's protocol. */
const NAMES: Partial<Record<Protocol, Readonly<Record<string, string>>>> = {
  messages: {
    ...{ stop: "stop_sequences", reasoning_effort: "output_config.effort" },
    ...{ reasoning: "thinking" },
  },
  responses: {
    ...{ messages: "input", thinking: "reasoning", stop: "stop", reasoning_effort: "reasoning" },
    ...{ "output_config.effort": "reasoning.effort", response_format: "text.format" },
  },
  chat: {
    ...{ thinking: "reasoning_effort", "output_config.effort": "reasoning_effort" },
    ...{ reasoning: "reasoning_effort" },
  },
};

/**
 * Edits a request in the model's own protocol to the form that the model accepts, by its profile:
 * single fields and entries. A hint that the model does not accept is dropped and named, a demand
 * refused. Returns the given body if nothing has to change. `client` is the protocol of a
 * translated request's client.
 */
export function edited(
  body: JsonObject,
  protocol: Protocol,
  profile: Profile,
  client: Protocol = protocol,
): Translated<JsonObject, undefined> {
  const notes = new Notes();
  const draft = new Draft(body, profile, notes, client === protocol ? undefined : NAMES[client]);
  if (protocol === "chat") editChat(draft);
  else if (protocol === "messages") editMessages(draft);
  else if (protocol === "responses") editResponses(draft);
  if (notes.rejected) return { ok: false, reject: notes.rejected };
  return { ok: true, body: draft.body, dropped: notes.dropped, context: undefined };
}
