import { type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import type { ChatRequest } from "../../types.ts";
import type { Scope } from "./scope.ts";

/** Adds the wanted reply format, from either of the two fields for it. */
export function addFormat(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const { notes } = scope;
  const current = objectOf(body["output_config"])?.["format"];
  const legacy = current === undefined || current === null;
  const path = legacy ? "output_format" : "output_config.format";
  const format = legacy ? body["output_format"] : current;
  if (format === undefined || format === null) return;
  const given = notes.element(format, path);
  if (!given) return;
  if (given["type"] !== "json_schema") {
    notes.unsupported(`${path}.type`, 'only "json_schema" can be translated');
    return;
  }
  const schema = notes.object(given, "schema", `${path}.schema`);
  if (!schema) {
    notes.invalid(`${path}.schema`, "must be an object");
    return;
  }
  const name = formatName(schema["title"]);
  request.response_format = { type: "json_schema", json_schema: { name, schema, strict: true } };
}

function formatName(title: unknown): string {
  if (typeof title !== "string" || title === "") return "output";
  return title.slice(0, 64).replace(/[^a-zA-Z0-9_-]/g, "_");
}
