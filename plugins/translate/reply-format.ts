import { type JsonObject, objectOf, type Protocol } from "../../core/plugin/index.ts";

/** The words that ask for JSON mode, which Messages does not have. */
export const AS_JSON = "Respond with one valid JSON object and nothing else.";

/** Returns the words that ask a model without structured output for it. */
export function inWords(schema: JsonObject): string {
  return `Reply with one JSON object that fits this JSON schema:\n${JSON.stringify(schema)}`;
}

/** Names of schemas that providers take. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** A reply format in the fields of Responses. */
interface Restored {
  readonly format: JsonObject | undefined;
  /** The names of the client's fields that are not dropped after all. */
  readonly names: readonly string[];
}

/**
 * Restores what a reply format lost on its way through Messages, which has schemas alone: JSON mode, and the name and the
 * description of a schema. `made`: the format as it is translated. `body`: the client's request.
 */
export function restoredFormat(
  made: JsonObject | undefined,
  client: Protocol,
  body: JsonObject,
): Restored {
  const [wanted, field] = wantedBy(client, body);
  if (wanted?.["type"] === "json_object") return { format: { type: "json_object" }, names: [] };
  if (!made || !wanted) return { format: made, names: [] };
  const { name, description } = wanted;
  const isDescribed = typeof description === "string";
  return {
    format: {
      ...made,
      ...(typeof name === "string" && NAME.test(name) && { name }),
      ...(isDescribed && { description }),
    },
    names: isDescribed ? [`${field}.description`] : [],
  };
}

/** Returns the format that the client wants, and the name of its field. */
function wantedBy(client: Protocol, body: JsonObject): [JsonObject | undefined, string] {
  if (client === "responses") return [objectOf(objectOf(body["text"])?.["format"]), "text.format"];
  return [flatFormat(objectOf(body["response_format"])), "response_format"];
}

/** Returns a format of Chat in the fields of Responses, which has the schema beside the type. */
export function flatFormat(format: JsonObject | undefined): JsonObject | undefined {
  if (!format) return undefined;
  const { json_schema: schema, ...rest } = format;
  return { ...objectOf(schema), ...rest };
}

/** Returns a format of Responses in the fields of Chat. */
export function nestedFormat(format: JsonObject): JsonObject {
  const { type, ...schema } = format;
  return type === "json_schema" ? { type, json_schema: schema } : format;
}
