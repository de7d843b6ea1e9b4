import { isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import {
  CLAUDE,
  CLAUDE_GRAMMAR,
  CLAUDE_GRAMMARS_MAX,
  OPENAI,
  OPENAI_GRAMMAR,
} from "../schema/dialect.ts";
import { inGrammar } from "../schema/grammar.ts";
import { asMoonshotSchema } from "../schema/moonshot.ts";
import { rewriteParameters, rewriteSchema } from "../schema/rewrite.ts";
import { isObjectSchema, isStrictReady } from "../schema/strict.ts";
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

/** Fits the schemas of tools and of the reply's format to what Claude takes. */
export function editMessagesSchemas(draft: Draft): void {
  if (!draft.isTranslated) return;
  const room = { ...CLAUDE_GRAMMARS_MAX };
  fitFormatToClaude(draft, room);
  draft.editEntries("tools", (tool) => fitToolToClaude(draft, tool, room));
}

/** The room that is left for the grammars of a request. */
type Room = Record<keyof typeof CLAUDE_GRAMMARS_MAX, number>;

function fitFormatToClaude(draft: Draft, room: Room): void {
  const config = draft.object("output_config");
  const format = objectOf(config?.["format"]);
  const given = format?.["schema"];
  if (!isObject(given)) return;
  const base = rewriteSchema(given, CLAUDE);
  const { schema, lost, unsaid, ...size } = inGrammar(base.schema, CLAUDE_GRAMMAR, false);
  if (unsaid !== undefined) {
    draft.refuse("response_format", `in its schema, ${unsaid}. Or ask for "json_object"`);
  }
  nameLost(draft, "format", [...base.lost, ...lost]);
  room.optionalProperties -= size.optionalProperties;
  room.unions -= size.unions;
  if (schema !== given) draft.set("output_config", { ...config, format: { ...format, schema } });
}

/** A strict tool stays strict if its schema has a grammar, and the request has room for one more. */
function fitToolToClaude(draft: Draft, tool: JsonObject, room: Room): JsonObject {
  const { input_schema: given, strict, ...rest } = tool;
  if (!isObject(given)) return tool;
  const base = rewriteParameters(given, CLAUDE);
  nameLost(draft, "parameters", base.lost);
  const made = strict === true ? inGrammar(base.schema, CLAUDE_GRAMMAR, true) : undefined;
  if (made && made.unsaid === undefined && takes(room, made)) {
    nameLost(draft, "parameters", made.lost);
    return { ...rest, strict, input_schema: made.schema };
  }
  if (strict === true) draft.nameDropped("strict");
  else if (base.schema === given) return tool;
  return { ...rest, input_schema: base.schema };
}

function takes(room: Room, size: Omit<Room, "strictTools">): boolean {
  const left = {
    strictTools: room.strictTools - 1,
    optionalProperties: room.optionalProperties - size.optionalProperties,
    unions: room.unions - size.unions,
  };
  if (Object.values(left).some((count) => count < 0)) return false;
  Object.assign(room, left);
  return true;
}

function fitToOpenai(draft: Draft, holder: JsonObject, use: Use): JsonObject {
  const keyword = use === "format" ? "schema" : use;
  const given = holder[keyword];
  if (!isObject(given)) return holder;
  // Only OpenAI wants an object at the root of a format.
  const isOpenai = draft.profile.dialect !== "compatible";
  const rewrite = use === "parameters" || isOpenai ? rewriteParameters : rewriteSchema;
  const isList = use === "format" && isOpenai && !isObjectSchema({ type: "object", ...given });
  if (isList) {
    draft.refuse("response_format", "its schema must be an object: make this a property of one");
  }
  const { schema, lost } = rewrite(given, OPENAI);
  nameLost(draft, use, lost);
  const isRefused = holder["strict"] === true && !isStrictReady(schema, OPENAI_GRAMMAR);
  if (isRefused && use === "parameters") draft.nameDropped("strict");
  else if (isRefused) draft.nameDropped("response_format", "strict");
  if (!isRefused && schema === given) return holder;
  const made = { ...holder, [keyword]: schema };
  return isRefused ? notStrict(made, use) : made;
}

function nameLost(draft: Draft, use: Use, lost: readonly string[]): void {
  for (const name of lost) draft.nameDropped(use === "format" ? "response_format" : "tools", name);
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
