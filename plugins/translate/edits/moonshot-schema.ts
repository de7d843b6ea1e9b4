import { isObject, type JsonObject } from "../../../core/contract/index.ts";

const TYPES = ["string", "number", "boolean", "object", "array", "null"];
const LEVELS_MAX = 64;

/**
 * Rewrites a JSON schema to the form that Kimi takes: each property has a type, no type stands
 * beside `anyOf`, and references point into `#/$defs`. Source: earendil-works/pi#4138.
 */
export function asMoonshotSchema(schema: JsonObject): JsonObject {
  return rewritten(schema, false, 0);
}

function rewritten(given: JsonObject, needsType: boolean, level: number): JsonObject {
  if (level > LEVELS_MAX) return given;
  const schema = withOwnDefinitions(given);
  const { $ref } = schema;
  if (typeof $ref === "string")
    return { ...schema, $ref: $ref.replace(/^#\/definitions\//, "#/$defs/") };
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if ((name === "properties" || name === "$defs") && isObject(value)) {
      made[name] = mapped(value, (inner) => rewritten(inner, true, level + 1));
    } else if ((name === "items" || name === "additionalProperties") && isObject(value)) {
      made[name] = rewritten(value, true, level + 1);
    } else if (name === "anyOf" && Array.isArray(value)) {
      made[name] = value.map((inner: unknown) =>
        isObject(inner) ? rewritten(withOuterType(inner, schema), true, level + 1) : inner,
      );
    } else made[name] = value;
  }
  if (Array.isArray(made["anyOf"])) delete made["type"];
  else if (needsType && made["type"] === undefined) return typed(made);
  return made;
}

/** Gives a schema without a type the one that its keywords imply, else any. */
function typed(schema: Record<string, unknown>): JsonObject {
  if (Array.isArray(schema["enum"])) return { ...schema, type: "string" };
  if (isObject(schema["properties"])) return { ...schema, type: "object" };
  if (schema["items"] !== undefined) return { ...schema, type: "array" };
  const anyOf = TYPES.map((type) =>
    type === "array" ? { type, items: { type: "string" } } : { type },
  );
  return { ...schema, anyOf };
}

function withOuterType(inner: JsonObject, { type }: JsonObject): JsonObject {
  if (type === undefined || inner["type"] !== undefined || inner["$ref"] !== undefined)
    return inner;
  return { ...inner, type };
}

function withOwnDefinitions(schema: JsonObject): JsonObject {
  const { definitions, ...rest } = schema;
  if (!isObject(definitions)) return schema;
  return { ...rest, $defs: { ...definitions, ...(isObject(rest["$defs"]) ? rest["$defs"] : {}) } };
}

function mapped(schemas: JsonObject, edit: (schema: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, value]) => [name, isObject(value) ? edit(value) : value]),
  );
}
