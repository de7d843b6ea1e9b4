import type { JsonObject } from "../../../core/plugin/index.ts";
import type { Notes } from "../notes.ts";
import { withObjectType } from "../schema/root.ts";
import type { MessagesTool } from "../types.ts";

/** Reads a function that a client of Chat or Responses declares. `name`: as the model sees it. */
export function functionTool(
  name: string,
  definition: JsonObject,
  path: string,
  notes: Notes,
): MessagesTool {
  const schema = notes.object(definition, "parameters", `${path}.parameters`) ?? {};
  const isEmpty = Object.keys(schema).length === 0;
  const description = notes.string(definition, "description", `${path}.description`);
  const isStrict = notes.boolean(definition, "strict", `${path}.strict`) === true;
  return {
    name,
    input_schema: isEmpty ? { type: "object", properties: {} } : withObjectType(schema),
    ...(description && { description }),
    ...(isStrict && { strict: true as const }),
  };
}

/** Reads a custom tool, whose input is text, as a tool with one text property. */
export function customTool(
  name: string,
  custom: JsonObject,
  path: string,
  notes: Notes,
): MessagesTool {
  const description = notes.string(custom, "description", `${path}.description`);
  const texts = [description, grammarOf(custom, path, notes)].filter(Boolean);
  return {
    name,
    input_schema: {
      type: "object",
      properties: { input: { type: "string" } },
      required: ["input"],
    },
    ...(texts.length > 0 && { description: texts.join("\n\n") }),
  };
}

/** The fields of a grammar stand beside its type in Responses, in an object of their own in Chat. */
function grammarOf(custom: JsonObject, path: string, notes: Notes): string | undefined {
  const format = notes.object(custom, "format", `${path}.format`);
  if (format?.["type"] !== "grammar") return undefined;
  const where = "grammar" in format ? `${path}.format.grammar` : `${path}.format`;
  const { grammar: nested = format } = format;
  const grammar = notes.element(nested, where);
  if (!grammar) return undefined;
  const syntax = notes.requiredString(grammar, "syntax", `${where}.syntax`);
  const definition = notes.requiredString(grammar, "definition", `${where}.definition`);
  return `Input grammar (${syntax}):\n${definition}`;
}
