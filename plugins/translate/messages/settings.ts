import type { JsonObject } from "../../../core/plugin/index.ts";
import { sha256Hex } from "../ids.ts";
import type { Notes } from "../notes.ts";
import { AS_JSON } from "../reply-format.ts";
import type { MessagesRequest } from "../types.ts";
import { isGiven } from "./scope.ts";

const USER_CHARS_MAX = 256;

/** Adds what Chat and Responses say in the same fields. Names the fields that are not translated. */
export function addSettings(
  body: JsonObject,
  request: MessagesRequest,
  translated: ReadonlySet<string>,
  notes: Notes,
): void {
  for (const name of Object.keys(body)) {
    if (!translated.has(name) && isGiven(body[name])) notes.drop(name);
  }
  const user = notes.string(body, "user", "user");
  const id = notes.string(body, "safety_identifier", "safety_identifier") || user;
  if (id) request.metadata = { user_id: id.length <= USER_CHARS_MAX ? id : sha256Hex(id) };
  const stream = notes.boolean(body, "stream", "stream");
  if (stream !== undefined) request.stream = stream;
}

/** Adds a reply format, in the fields of Responses. `field` and `schemaField`: the client's names of it and of its schema. */
export function addFormat(
  format: JsonObject | undefined,
  field: string,
  schemaField: string,
  request: MessagesRequest,
  notes: Notes,
): void {
  switch (format?.["type"]) {
    case undefined:
    case "text":
      return;
    case "json_object":
      request.system = [...(request.system ?? []), { type: "text", text: AS_JSON }];
      return;
    case "json_schema": {
      if (isGiven(format["description"])) notes.drop(`${field}.description`);
      const schema = notes.element(format["schema"], schemaField);
      if (!schema) return;
      const wanted = { type: "json_schema", schema } as const;
      request.output_config = { ...request.output_config, format: wanted };
      return;
    }
    default:
      notes.unsupported(`${field}.type`, "cannot be translated");
  }
}
