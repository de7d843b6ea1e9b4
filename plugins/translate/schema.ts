import { isObject, type JsonObject, objectOf } from "../../core/contract/index.ts";

/**
 * Keywords whose value is a schema or a list of schemas. Keywords with data, such as `enum`, are
 * not listed.
 */
const SCHEMA_KEYWORDS = [
  "items",
  "prefixItems",
  "contains",
  "additionalItems",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
  "propertyNames",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
];
const NAMED_SCHEMA_KEYWORDS = [
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
];

/** Adds the `type: "object"` and `properties` that Chat servers require of tool parameters. */
export function asParameters(schema: JsonObject | undefined): JsonObject {
  const typed = withObjectType(schema ?? {});
  return isObject(typed["properties"]) ? typed : { ...typed, properties: {} };
}

/** Adds `type: "object"` if the schema has no type. */
export function withObjectType(schema: JsonObject): JsonObject {
  return schema["type"] === undefined || schema["type"] === null
    ? { ...schema, type: "object" }
    : schema;
}

/**
 * Returns true if a server accepts the schema in strict mode: every object is closed and requires
 * all its properties. Never rewrite a schema to fit, because that makes optional fields required.
 */
export function isStrictReady(schema: unknown): boolean {
  if (!isObject(schema)) return true;
  if (isObjectSchema(schema)) {
    if (schema["additionalProperties"] !== false) return false;
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    const properties = isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
    if (!properties.every((name) => required.has(name))) return false;
  }
  return subschemas(schema).every(isStrictReady);
}

/**
 * Returns a copy with `additionalProperties: false` in every object schema that does not set it.
 */
export function closeObjects(schema: JsonObject): JsonObject {
  const closed = new Map(Object.entries(schema));
  for (const keyword of SCHEMA_KEYWORDS) {
    const value = closed.get(keyword);
    if (isObject(value)) closed.set(keyword, closeObjects(value));
    else if (Array.isArray(value)) closed.set(keyword, value.map(closeIfSchema));
  }
  for (const keyword of NAMED_SCHEMA_KEYWORDS) {
    const value = closed.get(keyword);
    if (!isObject(value)) continue;
    // fromEntries defines keys, so a property called __proto__ stays an ordinary property.
    closed.set(
      keyword,
      Object.fromEntries(
        Object.entries(value).map(([name, child]) => [name, closeIfSchema(child)]),
      ),
    );
  }
  if (isObjectSchema(schema) && !closed.has("additionalProperties")) {
    closed.set("additionalProperties", false);
  }
  return Object.fromEntries(closed);
}

function closeIfSchema(value: unknown): unknown {
  return isObject(value) ? closeObjects(value) : value;
}

function isObjectSchema(schema: JsonObject): boolean {
  const type = schema["type"];
  if (type === undefined || type === null) return isObject(schema["properties"]);
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}

function subschemas(schema: JsonObject): unknown[] {
  const lists = SCHEMA_KEYWORDS.map((keyword) => schema[keyword]);
  const named = NAMED_SCHEMA_KEYWORDS.map((keyword) =>
    Object.values(objectOf(schema[keyword]) ?? {}),
  );
  return [...lists.flat(), ...named.flat()];
}
