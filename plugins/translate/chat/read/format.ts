import { type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { isGiven, type Scope } from "../../messages/scope.ts";
import type { Notes } from "../../notes.ts";
import { AS_JSON } from "../../reply-format.ts";
import type { MessagesRequest } from "../../types.ts";

/** Adds the wanted reply format to the request. */
export function addFormat(body: JsonObject, request: MessagesRequest, { notes }: Scope): void {
  const format = notes.object(body, "response_format", "response_format");
  switch (format?.["type"]) {
    case undefined:
      if (format) notes.invalid("response_format.type", "is missing");
      return;
    case "text":
      return;
    case "json_object":
      request.system = [...(request.system ?? []), { type: "text", text: AS_JSON }];
      return;
    case "json_schema":
      addSchema(objectOf(format?.["json_schema"]), request, notes);
      return;
    default:
      notes.unsupported("response_format.type", "cannot be translated");
  }
}

function addSchema(given: JsonObject | undefined, request: MessagesRequest, notes: Notes): void {
  const path = "response_format.json_schema";
  const schema = given && notes.object(given, "schema", `${path}.schema`);
  if (!schema) {
    notes.invalid(`${path}.schema`, "must be an object");
    return;
  }
  if (isGiven(given?.["description"])) notes.drop("response_format.description");
  const wanted = { type: "json_schema", schema } as const;
  request.output_config = { ...request.output_config, format: wanted };
}
