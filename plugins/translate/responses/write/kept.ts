import type { JsonObject, Protocol } from "../../../../core/plugin/index.ts";
import { AS_JSON, restoredFormat } from "../../reply-format.ts";
import type { ResponsesRequest } from "../../types.ts";

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

/** The fields of a Responses client that makers other than OpenAI take, too. */
const SHARED_BY_ALL = ["prompt_cache_key"];

/** The request of a client with the fields that it lost on its way through Messages. */
interface Kept {
  readonly body: ResponsesRequest;
  /** The names of the client's fields that this step restores. */
  readonly names: ReadonlySet<string>;
}

/** Gives a translated request the fields of its client that Responses has, and Messages does not. */
export function withClientFields(
  request: ResponsesRequest,
  client: Protocol,
  given: JsonObject,
): Kept {
  const shared = client === "chat" ? SHARED : SHARED_BY_ALL;
  const kept = Object.fromEntries(
    shared.filter((name) => given[name] != null).map((name) => [name, given[name]]),
  );
  const { format, names: ofFormat } = restoredFormat(request.text?.format, client, given);
  const names = new Set([...Object.keys(kept), ...ofFormat]);
  const text: JsonObject = { ...request.text, ...(format && { format }) };
  if (client === "chat" && given["verbosity"] != null) {
    text["verbosity"] = given["verbosity"];
    names.add("verbosity");
  }
  const { user, ...rest } = format?.["type"] === "json_object" ? asJson(request) : request;
  // OpenAI accepts only one of the two names.
  const own = kept["safety_identifier"] === undefined && user !== undefined ? { user } : {};
  const hasText = Object.keys(text).length > 0;
  return { body: { ...rest, ...own, ...kept, ...(hasText && { text }) }, names };
}

/** Moves the words that ask for JSON to the input: OpenAI does not look for them in the instructions. */
function asJson({ instructions = "", input, ...request }: ResponsesRequest): ResponsesRequest {
  const rest = instructions.replace(AS_JSON, "").trimEnd();
  return {
    ...request,
    input: [{ role: "developer", content: AS_JSON }, ...input],
    ...(rest !== "" && { instructions: rest }),
  };
}
