import { isPythonPattern } from "./python-pattern.ts";

/** The JSON schemas that a provider takes. `rewriteSchema` changes all others. A new provider is a new row here. */
export interface SchemaDialect {
  /** Returns true if the provider compiles the pattern. Without it, patterns pass. */
  readonly compiles?: (pattern: string) => boolean;
  /** True if keywords are checked: values of the wrong type, and the forms of earlier drafts. */
  readonly checksKeywords?: true;
  /** True if an array must say what its items are. */
  readonly needsItems?: true;
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

/** Claude wants valid schemas of draft 2020-12. Claude docs: define tools. */
export const CLAUDE: SchemaDialect = { checksKeywords: true };

/**
 * The schemas that a provider compiles to a grammar, which then holds the reply to them: those of strict tools and of
 * reply formats. Every object in them is closed.
 */
export interface Grammar {
  readonly keywords: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
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
};

/** Claude docs: structured outputs, JSON Schema limitations. The official SDK describes patterns too, instead of sending them. */
export const CLAUDE_GRAMMAR: Grammar = {
  keywords: new Set(SHARED_KEYWORDS),
  formats: new Set([...SHARED_FORMATS, "uri"]),
};

/** The most that one request may ask of Claude's grammars. Claude docs: structured outputs, schema complexity. */
export const CLAUDE_GRAMMARS_MAX = { strictTools: 20, optionalProperties: 24, unions: 16 } as const;
