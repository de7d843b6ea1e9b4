import { isDeepStrictEqual } from "node:util";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import type { SchemaReferences } from "./references.ts";

/** A reference more than this many steps deep is left out: a chain may lead back to itself. */
const DEPTH_MAX = 16;
/** Maximum members of a union. Further ones are left out. */
const MEMBERS_MAX = 64;
/** Keywords of two schemas that may differ if they are joined: both values count, or none refuses a value. */
const MAY_DIFFER = new Set([
  ...["properties", "required", "title", "description", "default", "example", "examples"],
  ...["$comment", "$id", "$schema", "$anchor", "deprecated", "readOnly", "writeOnly"],
]);

/** Keywords that hold the branches of a union. */
export const UNIONS = ["anyOf", "oneOf"] as const;

/** Returns the branches of `anyOf` or `oneOf`; undefined if the schema has none. */
export function unionOf(schema: JsonObject): readonly unknown[] | undefined {
  const branches = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(branches) && branches.length > 0 ? branches : undefined;
}

/** Joins the members of `allOf` with the schema around them. `references.leftOut` grows if the result says less. */
export function conjunction(
  schema: JsonObject,
  references: SchemaReferences,
  depth = 0,
): JsonObject {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf) || depth > DEPTH_MAX) return schema;
  const members = allOf.filter(isObject).slice(0, MEMBERS_MAX);
  if (members.length < allOf.length) references.leftOut++;
  const [only] = members;
  // Pydantic writes a reference with a description like this. It stays a reference, because it may
  // lead to itself.
  if (only && members.length === 1 && own["properties"] === undefined) {
    return conjunction(both(own, only, references), references, depth + 1);
  }
  let joined: JsonObject = own;
  for (const member of members) {
    joined = both(joined, resolved(member, references, depth + 1), references);
  }
  return joined;
}

/**
 * Joins the branches of a union of objects, and the schema around it, to one object that takes at
 * least the values of the union: a property is required if all branches require it.
 */
export function disjunction(
  schema: JsonObject,
  union: readonly unknown[],
  references: SchemaReferences,
  depth = 0,
): JsonObject {
  const { anyOf: _, oneOf: __, ...own } = schema;
  const properties: Record<string, unknown> = { ...objectOf(own["properties"]) };
  let required: readonly unknown[] | undefined;
  let isClosed = true;
  for (const entry of union.slice(0, MEMBERS_MAX)) {
    if (!isObject(entry)) continue;
    const member = resolved(entry, references, depth + 1);
    const inner = unionOf(member);
    const branch =
      inner && depth < DEPTH_MAX ? disjunction(member, inner, references, depth + 1) : member;
    for (const [name, value] of Object.entries(objectOf(branch["properties"]) ?? {})) {
      properties[name] = Object.hasOwn(properties, name) ? either(properties[name], value) : value;
    }
    const names = arrayOf(branch["required"]);
    required = required ? required.filter((name) => names.includes(name)) : names;
    if (branch["additionalProperties"] !== false) isClosed = false;
  }
  const all = [...new Set([...arrayOf(own["required"]), ...(required ?? [])])];
  return {
    ...own,
    properties,
    ...(all.length > 0 && { required: all }),
    ...(isClosed && { additionalProperties: false }),
  };
}

/**
 * Returns a schema of one object, without a union or a reference at its root. `lost`: the keywords of the root that say
 * more than it does.
 */
export function oneObject(
  given: JsonObject,
  references: SchemaReferences,
): { object: JsonObject; lost: ReadonlyMap<string, unknown> } {
  const lost = new Map<string, unknown>();
  const before = references.leftOut;
  const schema = resolved(given, references);
  if (references.leftOut > before) {
    const keyword = given["$ref"] === undefined ? "allOf" : "$ref";
    lost.set(keyword, given[keyword]);
  }
  const union = unionOf(schema);
  for (const keyword of union ? UNIONS : []) {
    if (schema[keyword] !== undefined) lost.set(keyword, schema[keyword]);
  }
  const object = union ? disjunction(schema, union, references) : schema;
  return {
    object: typeof object["type"] === "string" ? object : { ...object, type: "object" },
    lost,
  };
}

/** Replaces a reference by its target, and joins the keywords beside it. */
export function resolved(schema: JsonObject, references: SchemaReferences, depth = 0): JsonObject {
  const { $ref, ...own } = schema;
  if (depth > DEPTH_MAX) {
    references.leftOut++;
    return own;
  }
  if (typeof $ref !== "string") return conjunction(schema, references, depth);
  const target = references.inlined($ref) ?? {};
  return both(own, resolved(target, references, depth + 1), references);
}

/** Returns a schema with the keywords of both. If both have a keyword, the first schema's counts. */
function both(first: JsonObject, second: JsonObject, references: SchemaReferences): JsonObject {
  const joined: Record<string, unknown> = { ...second, ...first };
  const firstProperties = objectOf(first["properties"]) ?? {};
  const secondProperties = objectOf(second["properties"]) ?? {};
  const properties = { ...secondProperties, ...firstProperties };
  if (Object.keys(properties).length > 0) joined["properties"] = properties;
  const required = new Set([...arrayOf(first["required"]), ...arrayOf(second["required"])]);
  if (required.size > 0) joined["required"] = [...required];
  const isLess =
    Object.keys(second).some((name) => !MAY_DIFFER.has(name) && differsIn(name, first, second)) ||
    Object.keys(secondProperties).some((name) =>
      differsIn(name, firstProperties, secondProperties),
    );
  if (isLess) references.leftOut++;
  return joined;
}

function differsIn(name: string, first: JsonObject, second: JsonObject): boolean {
  return Object.hasOwn(first, name) && !isDeepStrictEqual(first[name], second[name]);
}

function either(first: unknown, second: unknown): unknown {
  if (JSON.stringify(first) === JSON.stringify(second)) return first;
  const given = objectOf(first);
  const isMade = given && Object.keys(given).length === 1 && Array.isArray(given["anyOf"]);
  return { anyOf: [...(isMade ? arrayOf(given["anyOf"]) : [first]), second] };
}
