import { isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import {
  CLAUDE,
  CLAUDE_GRAMMAR,
  CLAUDE_GRAMMARS_MAX,
  DIALECTS,
  OPENAI,
  OPENAI_GRAMMAR,
} from "../schema/dialect.ts";
import { inGrammar } from "../schema/grammar.ts";
import { asMoonshotSchema } from "../schema/moonshot.ts";
import { rewriteParameters, rewriteSchema } from "../schema/rewrite.ts";
import { isObjectSchema, isStrictReady } from "../schema/strict.ts";
import { ContentCache } from "./content-cache.ts";
import type { Draft } from "./draft.ts";

type Use = "parameters" | "format";
type Edit = (given: JsonObject, losses: Losses) => JsonObject;
/** The object that has a schema, and perhaps says that the schema is strict. */
type EditHolder = (holder: JsonObject, use: Use, losses: Losses) => JsonObject;

const NO_PARAMETERS = { type: "object", properties: {} };

/** The losses of a request's schemas, and why they cannot be sent. */
class Losses {
  /** Names of fields, and of parts of them. */
  readonly dropped: (readonly [name: string, part?: string])[] = [];
  refusal: string | undefined = undefined;

  lose(use: Use, keywords: readonly string[]): void {
    const name = use === "format" ? "response_format" : "tools";
    for (const keyword of keywords) this.dropped.push([name, keyword]);
  }
}

/** The tools and the format of a request; each undefined if it stays as it is. */
interface Fitted {
  readonly tools: readonly unknown[] | undefined;
  readonly format: JsonObject | undefined;
  readonly losses: Losses;
}

/** An agent sends the same tools with each call, and to rewrite them takes longer than to compare them. */
const fittedBefore = new ContentCache<Fitted>();

/**
 * Fits the tools and the format of a request. Sets the tools, names what was lost, and returns the format. `dialect` names
 * all that the edits depend on beside the tools and the format themselves.
 */
function fit(
  draft: Draft,
  dialect: string,
  format: JsonObject | undefined,
  edits: { readonly tool: Edit; readonly format: Edit },
): JsonObject | undefined {
  const tools = draft.entries("tools");
  if (tools.length === 0 && !format) return format;
  const mark = `${dialect}\n${tools.map(markOf).join()}`;
  const fitted = fittedBefore.get(mark, [format, tools], () => {
    const losses = new Losses();
    const made = format && edits.format(format, losses);
    const all = tools.map((tool) => (isObject(tool) ? edits.tool(tool, losses) : tool));
    const isChanged = all.some((tool, at) => tool !== tools[at]);
    return {
      tools: isChanged ? all : undefined,
      format: made === format ? undefined : made,
      losses,
    };
  });
  const { dropped, refusal } = fitted.losses;
  if (refusal !== undefined) draft.refuse("response_format", refusal);
  for (const [name, part] of dropped) draft.nameDropped(name, part);
  if (fitted.tools) draft.set("tools", fitted.tools);
  return fitted.format ?? format;
}

/** Tells most tools of one name apart: agents of one kind describe them alike, but for a few words. */
function markOf(tool: unknown): string {
  const { function: called, name, description } = objectOf(tool) ?? {};
  if (name === undefined && isObject(called)) return markOf(called);
  return `${name}${typeof description === "string" ? description.length : ""}`;
}

/** Fits the schemas of tools and of the reply's format to what a Chat server takes. */
export function editChatSchemas(draft: Draft): void {
  const edit = editOf(draft);
  if (!edit) return;
  const given = draft.object("response_format");
  const named = objectOf(given?.["json_schema"]);
  const made = fit(draft, dialectOf(draft), named, {
    tool: (tool, losses) => {
      const called = tool["function"];
      const fitted = isObject(called) ? edit(called, "parameters", losses) : called;
      return fitted === called ? tool : { ...tool, function: fitted };
    },
    format: (format, losses) => edit(format, "format", losses),
  });
  if (made !== named) draft.set("response_format", { ...given, json_schema: made });
}

/** Native calls pass as they are. */
function editOf(draft: Draft): EditHolder | undefined {
  const { schema } = draft.profile;
  if (schema === "moonshot") return asMoonshot;
  if (draft.isTranslated) return chatEdit(draft);
  return schema === "present" ? withParameters : undefined;
}

/** Does the same for Responses. */
export function editResponsesSchemas(draft: Draft): void {
  if (!draft.isTranslated) return;
  const edit = chatEdit(draft);
  const text = draft.object("text");
  const given = objectOf(text?.["format"]);
  const made = fit(draft, dialectOf(draft), given, {
    tool: (tool, losses) => edit(tool, "parameters", losses),
    format: (format, losses) => edit(format, "format", losses),
  });
  if (made !== given) draft.set("text", { ...text, format: made });
}

/** Fits the schemas of tools and of the reply's format to what Claude takes. */
export function editMessagesSchemas(draft: Draft): void {
  if (!draft.isTranslated) return;
  const config = draft.object("output_config");
  const given = objectOf(config?.["format"]);
  const room = { ...CLAUDE_GRAMMARS_MAX };
  const made = fit(draft, "claude", given, {
    tool: (tool, losses) => fitToolToClaude(tool, room, losses),
    format: (format, losses) => fitFormatToClaude(format, room, losses),
  });
  if (made !== given) draft.set("output_config", { ...config, format: made });
}

function dialectOf({ profile, isTranslated }: Draft): string {
  const { maker = "", dialect = "", schema = "" } = profile;
  return `${maker} ${dialect} ${schema} ${isTranslated}`;
}

/** The room that is left for the grammars of a request. */
type Room = Record<keyof typeof CLAUDE_GRAMMARS_MAX, number>;

function fitFormatToClaude(format: JsonObject, room: Room, losses: Losses): JsonObject {
  const given = format["schema"];
  if (!isObject(given)) return format;
  const base = rewriteSchema(given, CLAUDE);
  const { schema, lost, unsaid, ...size } = inGrammar(base.schema, CLAUDE_GRAMMAR, false);
  if (unsaid !== undefined) losses.refusal = `in its schema, ${unsaid}. Or ask for "json_object"`;
  losses.lose("format", [...base.lost, ...lost]);
  room.optionalProperties -= size.optionalProperties;
  room.unions -= size.unions;
  return schema === given ? format : { ...format, schema };
}

/** A strict tool stays strict if its schema has a grammar, and the request has room for one more. */
function fitToolToClaude(tool: JsonObject, room: Room, losses: Losses): JsonObject {
  const { input_schema: given, strict, ...rest } = tool;
  if (!isObject(given)) return tool;
  const base = rewriteParameters(given, CLAUDE);
  losses.lose("parameters", base.lost);
  const made = strict === true ? inGrammar(base.schema, CLAUDE_GRAMMAR, true) : undefined;
  if (made && made.unsaid === undefined && takes(room, made)) {
    losses.lose("parameters", made.lost);
    return { ...rest, strict, input_schema: made.schema };
  }
  if (strict === true) losses.dropped.push(["strict"]);
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

/** Returns the edit for a server of Chat or Responses. */
function chatEdit({ profile }: Draft): EditHolder {
  // Only OpenAI wants an object at the root of a format.
  const isOpenai = profile.dialect !== "compatible";
  const dialect = DIALECTS.get(profile.maker ?? "") ?? OPENAI;
  return (holder, use, losses) => {
    const keyword = use === "format" ? "schema" : use;
    const given = holder[keyword];
    if (!isObject(given)) return holder;
    const rewrite = use === "parameters" || isOpenai ? rewriteParameters : rewriteSchema;
    if (use === "format" && isOpenai && !isObjectSchema({ type: "object", ...given })) {
      losses.refusal = "its schema must be an object: make this a property of one";
    }
    const { schema, lost } = rewrite(given, dialect);
    losses.lose(use, lost);
    const isRefused = holder["strict"] === true && !isStrictReady(schema, OPENAI_GRAMMAR);
    if (isRefused)
      losses.dropped.push(use === "format" ? ["response_format", "strict"] : ["strict"]);
    if (!isRefused && schema === given) return holder;
    const made = { ...holder, [keyword]: schema };
    return isRefused ? notStrict(made, use) : made;
  };
}

function notStrict({ strict: _, ...holder }: JsonObject, use: Use): JsonObject {
  // Responses, which has the name of a tool beside its type, takes a tool without the field as strict.
  const isExplicit = use === "format" || holder["type"] !== undefined;
  return isExplicit ? { ...holder, strict: false } : holder;
}

function withParameters(holder: JsonObject): JsonObject {
  return isObject(holder["parameters"]) ? holder : { ...holder, parameters: NO_PARAMETERS };
}

function asMoonshot(holder: JsonObject, use: Use, losses: Losses): JsonObject {
  const keyword = use === "format" ? "schema" : use;
  const given = holder[keyword];
  if (!isObject(given)) return holder;
  const { schema, lost } = asMoonshotSchema(given, use);
  losses.lose(use, lost);
  return { ...holder, [keyword]: schema };
}
