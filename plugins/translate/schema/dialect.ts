import { isPythonPattern } from "./python-pattern.ts";
import { isRe2Pattern } from "./re2-pattern.ts";

/** The JSON schemas that a provider takes. `rewriteSchema` changes all others. A new provider is a new row here. */
export interface SchemaDialect {
  /** Returns true if the provider compiles the pattern. Without it, patterns pass. */
  readonly compiles?: (pattern: string) => boolean;
  /** True if keywords are checked: values of the wrong type, and the forms of earlier drafts. */
  readonly checksKeywords?: true;
  /** True if an array must say what its items are. */
  readonly needsItems?: true;
  /** The keywords that the provider knows. Without it, all pass. `const` becomes `enum`, members of `allOf` are joined. */
  readonly keywords?: ReadonlySet<string>;
  /** The formats that the provider knows. Without it, all pass. */
  readonly formats?: ReadonlySet<string>;
  /** Keywords that it refuses although they say nothing about values. They go without a word. */
  readonly refusedNames?: ReadonlySet<string>;
  /** True if an object that does not say `additionalProperties` takes none. */
  readonly closesObjects?: true;
  /** True if no schema may refer to one around it. */
  readonly refusesCircles?: true;
}

/**
 * OpenAI checks schemas as Python's `jsonschema` does (raine/claude-code-proxy#141, griptape-ai/griptape#2150,
 * vercel/ai#2271), and wants items, as Gemini does (MadAppGang/claudish#232, NousResearch/hermes-agent#69924). All
 * other servers of Chat and Responses take what these two take.
 */
export const OPENAI: SchemaDialect = {
  compiles: isPythonPattern,
  checksKeywords: true,
  needsItems: true,
};

/**
 * Gemini: the fields of its own `Schema`, beside those of JSON Schema that its structured outputs list (Gemini docs: Schema,
 * structured outputs). It refuses the whole call for another one: pizza-bot-app/pizza-bot#62 (bounds), zed-industries/zed#44875
 * (`const`), AstrBotDevs/AstrBot#7572 (`examples`). Its patterns are RE2's.
 */
const GOOGLE: SchemaDialect = {
  compiles: isRe2Pattern,
  checksKeywords: true,
  needsItems: true,
  keywords: new Set([
    ...["type", "format", "title", "description", "nullable", "enum", "default", "example"],
    ...["items", "prefixItems", "minItems", "maxItems", "minimum", "maximum"],
    ...["properties", "required", "minProperties", "maxProperties", "propertyOrdering"],
    ...["minLength", "maxLength", "pattern", "anyOf", "oneOf", "additionalProperties"],
    ...["$ref", "$defs", "definitions", "$id", "$anchor", "$schema"],
  ]),
  formats: new Set([...["date-time", "date", "time", "enum", "int32", "int64", "float", "double"]]),
};

/**
 * Grok: it holds the arguments of every tool to the schema, in which an object is closed unless it says otherwise, and
 * references must not lead back (xAI docs: structured outputs).
 */
const XAI: SchemaDialect = {
  compiles: isRe2Pattern,
  checksKeywords: true,
  needsItems: true,
  closesObjects: true,
  refusesCircles: true,
};

/**
 * Mistral refuses names of schemas (BerriAI/litellm#13389) and the bounds of earlier drafts (SylphxAI/pdf-reader-mcp#63).
 * Its grammars are Rust's, whose patterns have the limits of RE2.
 */
const MISTRAL: SchemaDialect = {
  compiles: isRe2Pattern,
  checksKeywords: true,
  needsItems: true,
  refusedNames: new Set(["$id", "$schema"]),
};

/** The dialects of servers of Chat and Responses by the maker of the model. Another maker's is OpenAI's. */
export const DIALECTS: ReadonlyMap<string, SchemaDialect> = new Map([
  ["google", GOOGLE],
  ["xai", XAI],
  ["mistral", MISTRAL],
]);

/** Claude wants valid schemas of draft 2020-12. Claude docs: define tools. */
export const CLAUDE: SchemaDialect = { checksKeywords: true };

/**
 * The schemas that a provider compiles to a grammar, which then holds the reply to them: those of strict tools and of
 * reply formats. Every object in them is closed.
 */
export interface Grammar {
  readonly keywords: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
  /** The most that one schema may have. */
  readonly most?: Readonly<Record<keyof SchemaSize, number>>;
}

/** The size of a schema: properties of all objects, levels of nesting, values of enums, and characters of names and values. */
export interface SchemaSize {
  properties: number;
  levels: number;
  values: number;
  characters: number;
}

/** Keywords and formats of both. `$id` and `$schema` say nothing about values. */
const SHARED_KEYWORDS = [
  ...["type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "description", "title"],
  ...["default", "properties", "required", "additionalProperties", "items", "format", "minItems"],
];
const SHARED_FORMATS = [
  ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
];

/** OpenAI docs: structured outputs, supported schemas. `uri`: cyanheads/git-mcp-server#47; `allOf`: can1357/oh-my-pi#206. */
export const OPENAI_GRAMMAR: Grammar = {
  keywords: new Set([
    ...[...SHARED_KEYWORDS, "$schema", "$id", "pattern", "minLength", "maxLength", "maxItems"],
    ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ]),
  formats: new Set(SHARED_FORMATS),
  most: { properties: 5_000, levels: 10, values: 1_000, characters: 120_000 },
};

/** Claude docs: structured outputs, JSON Schema limitations. The official SDK describes patterns too, instead of sending them. */
export const CLAUDE_GRAMMAR: Grammar = {
  keywords: new Set(SHARED_KEYWORDS),
  formats: new Set([...SHARED_FORMATS, "uri"]),
};

/** The most that one request may ask of Claude's grammars. Claude docs: structured outputs, schema complexity. */
export const CLAUDE_GRAMMARS_MAX = { strictTools: 20, optionalProperties: 24, unions: 16 } as const;
