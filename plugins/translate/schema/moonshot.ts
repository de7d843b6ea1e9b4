import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { SchemaReferences } from "./references.ts";
import { conjunction, disjunction, oneObject, unionOf } from "./union.ts";

const TYPES = ["string", "number", "boolean", "object", "array", "null"];
const KNOWN_TYPES = new Set([...TYPES, "integer"]);
/** A schema that takes any value. Kimi wants a type everywhere. */
const ANY = TYPES.map((type) =>
  type === "array" ? { type, items: { type: "string" } } : { type },
);
/** Only these keywords may stand beside a reference or a union. */
const ANNOTATIONS = ["title", "description"];
/** Keywords that are rewritten into others, or that only name the dialect. */
const REMOVED = new Set(["$schema", "$id", "$defs", "definitions", "allOf", "oneOf", "const"]);
/** Keywords that only one type has. */
const TYPE_OF_KEYWORD = new Map<string, string>([
  ...["properties", "required", "additionalProperties"].map((name) => [name, "object"] as const),
  ...["items", "minItems", "maxItems"].map((name) => [name, "array"] as const),
  ...["pattern", "minLength", "maxLength", "format"].map((name) => [name, "string"] as const),
  ...["minimum", "maximum"].map((name) => [name, "number"] as const),
]);
/**
 * Maximum schemas of a rewritten one. Beyond them a schema takes any value, as references may lead
 * back. Kimi's own limits.
 */
const SCHEMAS_MAX = 3_000;
const LEVELS_MAX = 30;

/**
 * Rewrites a JSON schema to the form that Kimi takes: each schema has a type or `anyOf`, never
 * both; all references point to `#/$defs/NAME`; enums hold values of one type. `parameters`: the
 * schema of a tool, which must be one object. Source: MoonshotAI/walle, docs/mfjs-spec.md.
 */
export function asMoonshotSchema(schema: JsonObject, use: "parameters" | "format"): JsonObject {
  return new Rewriting(schema).root(use);
}

class Rewriting {
  private readonly references: SchemaReferences;
  private readonly given: JsonObject;
  private count = 0;

  constructor(given: JsonObject) {
    this.given = given;
    this.references = new SchemaReferences(given);
  }

  root(use: "parameters" | "format"): JsonObject {
    const { references } = this;
    const given = use === "parameters" ? oneObject(this.given, references) : this.given;
    const made = this.rewritten(given, 0);
    const definitions: Record<string, unknown> = {};
    // Definitions may name further ones, which are then added to the end.
    for (const [name, definition] of references.used())
      definitions[name] = this.rewritten(definition, 0);
    return Object.keys(definitions).length > 0 ? { ...made, $defs: definitions } : made;
  }

  private rewritten(given: unknown, level: number): JsonObject {
    this.count += 1;
    if (!isObject(given) || this.count > SCHEMAS_MAX || level > LEVELS_MAX) return { anyOf: ANY };
    const joined = conjunction(given, this.references);
    const union = unionOf(joined);
    const isSplit = union && (isObject(joined["properties"]) || joined["required"] !== undefined);
    const schema = isSplit ? disjunction(joined, union, this.references) : joined;
    if (typeof schema["$ref"] === "string") return this.reference(schema, schema["$ref"]);
    const made = this.keywords(schema, level + 1);
    const branches = isSplit ? undefined : union;
    if (branches) return this.union(made, branches, level + 1);
    const typed = typedEnum(made);
    if (typed["type"] !== undefined || typed["anyOf"] !== undefined) return typed;
    const keyword = Object.keys(typed).find((name) => TYPE_OF_KEYWORD.has(name));
    if (keyword) return { type: TYPE_OF_KEYWORD.get(keyword), ...typed };
    return { ...typed, anyOf: ANY };
  }

  private reference(schema: JsonObject, $ref: string): JsonObject {
    const to = this.references.nameOf($ref);
    const target = to === undefined ? { anyOf: ANY } : { $ref: to };
    return { ...target, ...only(schema, ANNOTATIONS) };
  }

  /** Moves the type of a union into those of its branches that have no type. */
  private union(made: JsonObject, branches: readonly unknown[], level: number): JsonObject {
    const { type } = made;
    const anyOf = branches.filter(isObject).map((branch) => {
      const isTyped = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"].some(
        (name) => branch[name] !== undefined,
      );
      return this.rewritten(isTyped || type === undefined ? branch : { type, ...branch }, level);
    });
    const hasDefault = anyOf.some((branch) => branch["default"] !== undefined);
    const kept = only(made, hasDefault ? ANNOTATIONS : [...ANNOTATIONS, "default"]);
    return { ...kept, anyOf: anyOf.length > 0 ? anyOf : ANY };
  }

  /** Rewrites the values of the keywords, and leaves out keywords that Kimi refuses. */
  private keywords(schema: JsonObject, level: number): JsonObject {
    const made: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(schema)) {
      if (REMOVED.has(name) || name === "anyOf" || name === "prefixItems") continue;
      if (name === "properties" && isObject(value)) {
        made[name] = Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [key, this.rewritten(inner, level)]),
        );
      } else if (name === "additionalProperties" && isObject(value)) {
        made[name] = Object.keys(value).length === 0 || this.rewritten(value, level);
      } else if (name === "type") {
        if (isType(value)) made[name] = value;
      } else if (name === "description") {
        if (typeof value === "string") made[name] = value;
      } else if (name === "required") {
        const known = objectOf(schema["properties"]) ?? {};
        const names = arrayOf(value).filter((key) => Object.hasOwn(known, String(key)));
        if (names.length > 0) made[name] = names;
      } else if (name !== "items") made[name] = value;
    }
    const items = this.items(schema, level);
    if (items) made["items"] = items;
    if (schema["const"] !== undefined) made["enum"] = [schema["const"]];
    return made;
  }

  /** Returns the schema of a list's items. A tuple becomes a list of any of its members. */
  private items(schema: JsonObject, level: number): JsonObject | undefined {
    const { items, prefixItems } = schema;
    if (isObject(items)) return this.rewritten(items, level);
    const members = Array.isArray(items) ? items : arrayOf(prefixItems);
    if (members.length === 0) return undefined;
    return this.rewritten(members.length === 1 ? members[0] : { anyOf: members }, level);
  }
}

function isType(value: unknown): boolean {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value];
  return types.length > 0 && types.every((type) => KNOWN_TYPES.has(String(type)));
}

function only(schema: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => names.includes(name)));
}

/**
 * Gives an enum the type of its values: Kimi wants one, or one and null. Values of several types
 * become a union. Lists and objects, which it refuses, are left out.
 */
function typedEnum(schema: JsonObject): JsonObject {
  const { enum: given, type, ...rest } = schema;
  if (given === undefined) return schema;
  const values = arrayOf(given).filter((value) => typeOf(value) !== undefined);
  const types = typesOf(values);
  const named = types.filter((one) => one !== "null");
  const [only] = named;
  if (types.length === 0) return type === undefined ? rest : { type, ...rest };
  if (only === undefined) return { ...rest, type: "null" };
  if (fits(types, type)) return { ...rest, type, enum: values };
  if (named.length === 1) {
    return { ...rest, type: types.includes("null") ? [only, "null"] : only, enum: values };
  }
  const anyOf = types.map((one) =>
    one === "null"
      ? { type: one }
      : { type: one, enum: values.filter((value) => isOf(value, one)) },
  );
  return { ...rest, anyOf };
}

/** Returns true if all values have the stated type, in a form that may stand beside an enum. */
function fits(types: readonly string[], stated: unknown): boolean {
  const list: readonly unknown[] = Array.isArray(stated) ? stated : [stated];
  const isForm = list.length === 1 || (list.length === 2 && list.includes("null"));
  return (
    isForm &&
    types.every((type) => list.includes(type) || (type === "integer" && list.includes("number")))
  );
}

function typesOf(values: readonly unknown[]): string[] {
  const types = new Set(values.flatMap((value) => typeOf(value) ?? []));
  if (types.has("number")) types.delete("integer");
  return [...types];
}

function isOf(value: unknown, type: string): boolean {
  const own = typeOf(value);
  return own === type || (type === "number" && own === "integer");
}

function typeOf(value: unknown): string | undefined {
  if (value === null) return "null";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" || typeof value === "boolean" ? typeof value : undefined;
}
