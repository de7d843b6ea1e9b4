import { isPythonPattern } from "./python-pattern.ts";

/** The JSON schemas that a provider takes. `rewriteSchema` changes all others. A new provider is a new row here. */
export interface SchemaDialect {
  /** Returns true if the provider compiles the pattern. Without it, patterns pass. */
  readonly compiles?: (pattern: string) => boolean;
  /** True if keywords are checked: values of the wrong type, and the forms of earlier drafts. */
  readonly checksKeywords?: true;
  /** True if an array must say what its items are. */
  readonly needsItems?: true;
  /** True if every object must say that it has no other properties. */
  readonly closesObjects?: true;
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

/** Formats of replies of Claude. Claude docs: structured outputs. */
export const CLAUDE_FORMAT: SchemaDialect = { closesObjects: true };
