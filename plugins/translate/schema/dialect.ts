import { isPythonPattern, isRe2Pattern } from "./re2-pattern.ts";

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
  /** True if an enum has only texts that are not empty. */
  readonly namesEnums?: true;
  /** True if an object that does not say `additionalProperties` takes none. */
  readonly closesObjects?: true;
  /** True if no schema may refer to one around it. */
  readonly refusesCircles?: true;
}

/**
 * OpenAI. All other servers of Chat and Responses take what OpenAI and Gemini both take.
 */
export const OPENAI: SchemaDialect = {
  // Python's `re` (raine/claude-code-proxy#141), and no part that looks around (vercel/ai#21037, anomalyco/opencode#32073). RE2
  // in a third report (sbluemin/fleet-harness#1036).
  compiles: isPythonPattern,
  // Python's `jsonschema`: griptape-ai/griptape#2150 (`$id`), vercel/ai#2271 (types).
  checksKeywords: true,
  // MadAppGang/claudish#232.
  needsItems: true,
};

/** Gemini refuses the whole call for one keyword that it does not know. */
const GOOGLE: SchemaDialect = {
  // Vertex AI docs: Schema, `pattern`. Its engine is not named: RE2 has the fewest features.
  compiles: isRe2Pattern,
  // Its fields are typed: pizza-bot-app/pizza-bot#62.
  checksKeywords: true,
  // NousResearch/hermes-agent#69924.
  needsItems: true,
  // anomalyco/opencode#12784, diegosouzapw/OmniRoute#760.
  namesEnums: true,
  keywords: new Set([
    // Gemini docs: Schema. Without `examples`: AstrBotDevs/AstrBot#7572.
    ...["type", "format", "title", "description", "nullable", "enum", "default", "example"],
    // The same; `prefixItems` by Gemini docs: structured outputs. Without exclusive bounds: pizza-bot-app/pizza-bot#62.
    ...["items", "prefixItems", "minItems", "maxItems", "minimum", "maximum"],
    // Gemini docs: Schema. Without `const`: zed-industries/zed#44875.
    ...["properties", "required", "minProperties", "maxProperties", "propertyOrdering"],
    // The same; `oneOf` and `additionalProperties` by Gemini docs: structured outputs.
    ...["minLength", "maxLength", "pattern", "anyOf", "oneOf", "additionalProperties"],
    // Gemini docs: structured outputs, JSON Schema support.
    ...["$ref", "$defs", "definitions", "$id", "$anchor", "$schema"],
  ]),
  // Gemini docs: Schema, `format`; structured outputs, types of strings.
  formats: new Set([...["date-time", "date", "time", "enum", "int32", "int64", "float", "double"]]),
};

/** Grok holds the arguments of every tool to the schema. */
const XAI: SchemaDialect = {
  // xAI docs: structured outputs, `pattern`. Its engine is not named: RE2 has the fewest features.
  compiles: isRe2Pattern,
  // As OpenAI, whose API it copies.
  checksKeywords: true,
  // The same.
  needsItems: true,
  // xAI docs: structured outputs, objects.
  closesObjects: true,
  // xAI docs: structured outputs, recursive schemas.
  refusesCircles: true,
};

const MISTRAL: SchemaDialect = {
  // guidance-ai/llguidance, whose patterns are those of Rust's `regex`, with the limits of RE2.
  compiles: isRe2Pattern,
  // Bounds of earlier drafts: SylphxAI/pdf-reader-mcp#63.
  checksKeywords: true,
  // As OpenAI, whose API it copies.
  needsItems: true,
  // BerriAI/litellm#13389.
  refusedNames: new Set(["$id", "$schema"]),
};

/** The dialects of servers of Chat and Responses by the maker of the model. Another maker's is OpenAI's. */
export const DIALECTS: ReadonlyMap<string, SchemaDialect> = new Map([
  ["google", GOOGLE],
  ["xai", XAI],
  ["mistral", MISTRAL],
]);

/** Claude. */
export const CLAUDE: SchemaDialect = {
  // Valid by draft 2020-12. Claude docs: define tools.
  checksKeywords: true,
};

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

export const OPENAI_GRAMMAR: Grammar = {
  // OpenAI docs: structured outputs, supported properties. Without `allOf`: can1357/oh-my-pi#206.
  keywords: new Set([
    ...[...SHARED_KEYWORDS, "$schema", "$id", "pattern", "minLength", "maxLength", "maxItems"],
    ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ]),
  // OpenAI docs: structured outputs, supported properties. Without `uri`: cyanheads/git-mcp-server#47.
  formats: new Set(SHARED_FORMATS),
  // OpenAI docs: structured outputs, limitations of size and nesting.
  most: { properties: 5_000, levels: 10, values: 1_000, characters: 120_000 },
};

export const CLAUDE_GRAMMAR: Grammar = {
  // Claude docs: structured outputs, JSON Schema limitations. Its official SDK describes patterns instead of sending them.
  keywords: new Set(SHARED_KEYWORDS),
  // Claude docs: structured outputs, supported formats of strings.
  formats: new Set([...SHARED_FORMATS, "uri"]),
};

/** The most that one request may ask of Claude's grammars. Claude docs: structured outputs, schema complexity. */
export const CLAUDE_GRAMMARS_MAX = { strictTools: 20, optionalProperties: 24, unions: 16 } as const;
