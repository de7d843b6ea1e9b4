import { isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { CLAUDE_FORMAT, OPENAI } from "../schema/dialect.ts";
import { asMoonshotSchema } from "../schema/moonshot/rewrite.ts";
import { rewriteSchema } from "../schema/rewrite.ts";
import { isStrictReady } from "../schema/strict.ts";
import type { Draft } from "./draft.ts";

type Use = "parameters" | "format";
/** The object that has a schema, and perhaps says that the schema is strict. */
type EditHolder = (holder: JsonObject, use: Use) => JsonObject;

const NO_PARAMETERS = { type: "object", properties: {} };

/** Fits the schemas of tools and of the reply's format to what a Chat server takes. */
export function editChatSchemas(draft: Draft): void {
  const edit = editOf(draft);
  if (!edit) return;
  draft.editEntries("tools", (tool) => {
    const called = tool["function"];
    const made = isObject(called) ? edit(called, "parameters") : called;
    return made === called ? tool : { ...tool, function: made };
  });
  const format = draft.object("response_format");
  const named = objectOf(format?.["json_schema"]);
  const made = named && edit(named, "format");
  if (made !== named) draft.set("response_format", { ...format, json_schema: made });
}

/** Native calls pass as they are. */
function editOf(draft: Draft): EditHolder | undefined {
  const { schema } = draft.profile;
  if (schema === "moonshot") return asMoonshot;
  if (draft.isTranslated) return (holder, use) => fitToOpenai(draft, holder, use);
  return schema === "present" ? withParameters : undefined;
}

/** Does the same for Responses. */
export function editResponsesSchemas(draft: Draft): void {
  if (!draft.isTranslated) return;
  draft.editEntries("tools", (tool) => fitToOpenai(draft, tool, "parameters"));
  const text = draft.object("text");
  const format = objectOf(text?.["format"]);
  const made = format && fitToOpenai(draft, format, "format");
  if (made !== format) draft.set("text", { ...text, format: made });
}

/** Closes the objects of a reply's format, which Claude demands. It does not demand that all fields are required. */
export function editMessagesSchemas(draft: Draft): void {
  if (!draft.isTranslated) return;
  const config = draft.object("output_config");
  const format = objectOf(config?.["format"]);
  const given = format?.["schema"];
  if (!isObject(given)) return;
  const { schema } = rewriteSchema(given, CLAUDE_FORMAT);
  if (schema !== given) draft.set("output_config", { ...config, format: { ...format, schema } });
}

function fitToOpenai(draft: Draft, holder: JsonObject, use: Use): JsonObject {
  const keyword = use === "format" ? "schema" : use;
  const given = holder[keyword];
  if (!isObject(given)) return holder;
  const { schema, lost } = rewriteSchema(given, OPENAI);
  for (const name of lost) draft.nameDropped(use === "format" ? "response_format" : "tools", name);
  const isRefused = holder["strict"] === true && !isStrictReady(schema);
  if (isRefused && use === "parameters") draft.nameDropped("strict");
  if (!isRefused && schema === given) return holder;
  const made = { ...holder, [keyword]: schema };
  return isRefused ? notStrict(made, use) : made;
}

function notStrict({ strict: _, ...holder }: JsonObject, use: Use): JsonObject {
  // Responses, which has the name of a tool beside its type, takes a tool without the field as strict.
  const isExplicit = use === "format" || holder["type"] !== undefined;
  return isExplicit ? { ...holder, strict: false } : holder;
}

function withParameters(holder: JsonObject): JsonObject {
  return isObject(holder["parameters"]) ? holder : { ...holder, parameters: NO_PARAMETERS };
}

function asMoonshot(holder: JsonObject, use: Use): JsonObject {
  const keyword = use === "format" ? "schema" : use;
  const given = holder[keyword];
  return isObject(given) ? { ...holder, [keyword]: asMoonshotSchema(given, use) } : holder;
}
