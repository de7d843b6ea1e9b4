import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import type { Grammar, SchemaSize } from "./dialect.ts";
import { schemasIn } from "./positions.ts";

/** One of them says what values a schema takes. */
const TYPED = ["type", "$ref", "anyOf", "enum", "const"];

/**
 * Returns true if a server accepts the schema in strict mode: it has only keywords of the grammar, every schema has a
 * type, and every object is closed and requires all its properties. Never rewrite a schema to fit, because that makes
 * optional fields required.
 */
export function isStrictReady(schema: JsonObject, grammar: Grammar): boolean {
  return schema["anyOf"] === undefined && isReady(schema, grammar) && isSmall(schema, grammar);
}

function isSmall(schema: JsonObject, { most }: Grammar): boolean {
  if (!most) return true;
  const size: SchemaSize = { properties: 0, levels: 0, values: 0, characters: 0 };
  addSize(schema, 0, size);
  return (Object.keys(most) as (keyof SchemaSize)[]).every((name) => size[name] <= most[name]);
}

/** `level`: how many objects are around the schema. */
function addSize(schema: JsonObject, level: number, size: SchemaSize): void {
  const names = [schema["properties"], schema["$defs"], schema["definitions"]].flatMap((named) =>
    Object.keys(objectOf(named) ?? {}),
  );
  const values = [...arrayOf(schema["enum"]), schema["const"]].filter((one) => one !== undefined);
  const inner = isObjectSchema(schema) ? level + 1 : level;
  size.levels = Math.max(size.levels, inner);
  size.properties += Object.keys(objectOf(schema["properties"]) ?? {}).length;
  size.values += arrayOf(schema["enum"]).length;
  for (const text of [...names, ...values]) size.characters += String(text).length;
  for (const one of schemasIn(schema)) if (isObject(one)) addSize(one, inner, size);
}

function isReady(schema: unknown, grammar: Grammar): boolean {
  if (!isObject(schema)) return true;
  if (!TYPED.some((keyword) => schema[keyword] !== undefined)) return false;
  for (const keyword in schema) if (!grammar.keywords.has(keyword)) return false;
  const { format } = schema;
  if (format !== undefined && !grammar.formats.has(String(format))) return false;
  if (isObjectSchema(schema)) {
    if (schema["additionalProperties"] !== false) return false;
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    const properties = isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
    if (!properties.every((name) => required.has(name))) return false;
  }
  return schemasIn(schema).every((inner) => isReady(inner, grammar));
}

/** Returns true for a schema of objects, or one that only says which properties they have. */
export function isObjectSchema(schema: JsonObject): boolean {
  const type = schema["type"];
  if (type === undefined || type === null) return isObject(schema["properties"]);
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}
