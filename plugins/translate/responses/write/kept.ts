import { type JsonObject, objectOf } from "../../../../core/plugin/index.ts";

/** Fields that Chat and Responses share, and Messages does not have, or has with fewer values. */
const SHARED = [
  "prompt_cache_key",
  "prompt_cache_retention",
  "metadata",
  "safety_identifier",
  "service_tier",
  "prompt_cache_options",
  "moderation",
];

/** The request of a client with the fields that it lost on its way through Messages. */
interface Kept {
  readonly body: object;
  /** The names of the client's fields that this step restores. */
  readonly names: ReadonlySet<string>;
}

/** Gives a translated request the fields of a Responses client that makers other than OpenAI take, too. */
export function withResponsesFields(request: JsonObject, given: JsonObject): Kept {
  const { prompt_cache_key: key } = given;
  const isJson = objectOf(objectOf(given["text"])?.["format"])?.["type"] === "json_object";
  const text = isJson && { text: { format: { type: "json_object" } } };
  const kept = key != null && { prompt_cache_key: key };
  return { body: { ...request, ...kept, ...text }, names: new Set(Object.keys(kept || {})) };
}

/** Gives a translated request the fields of a Chat client that Responses has, and Messages does not. */
export function withChatFields(request: JsonObject, chat: JsonObject): Kept {
  const kept = Object.fromEntries(
    SHARED.filter((name) => chat[name] != null).map((name) => [name, chat[name]]),
  );
  const text: JsonObject = { ...objectOf(request["text"]) };
  const isJson = objectOf(chat["response_format"])?.["type"] === "json_object";
  if (isJson) text["format"] = { type: "json_object" };
  const names = new Set(Object.keys(kept));
  if (chat["verbosity"] != null) {
    text["verbosity"] = chat["verbosity"];
    names.add("verbosity");
  }
  const { user, ...rest } = request;
  // OpenAI accepts only one of the two names.
  const own = kept["safety_identifier"] === undefined && user !== undefined ? { user } : {};
  const hasText = Object.keys(text).length > 0;
  return { body: { ...rest, ...own, ...kept, ...(hasText && { text }) }, names };
}
