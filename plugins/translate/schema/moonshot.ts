import { isDeepStrictEqual } from "node:util";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { SchemaDraft } from "./draft.ts";
import { holdsSchemas } from "./positions.ts";
import { SchemaReferences } from "./references.ts";
import { MAY_BE_NULL, type RewrittenSchema } from "./rewrite.ts";
import { conjunction, disjunction, oneObject, UNIONS, unionOf } from "./union.ts";

const TYPES = ["string", "number", "boolean", "object", "array", "null"];
const KNOWN_TYPES = new Set([...TYPES, "integer"]);
/** A schema that takes any value. Kimi wants a type everywhere. */
const ANY = TYPES.map((type) => ({ type }));
/** Only these keywords may stand beside a reference or a union. */
const ANNOTATIONS = ["title", "description"];
/** Keywords that only name the dialect, or schemas. */
const NAMES = new Set(["$schema", "$id", "$defs", "definitions"]);
/** Keywords that are rewritten into others. */
const REMOVED = new Set([
  ...[...NAMES, "allOf", "anyOf", "oneOf", "const", "items", "prefixItems"],
]);
/** Keywords that hold schemas, and that Kimi knows as they are. References in others would lead nowhere. */
const HOLDERS = new Set(["properties", "additionalProperties"]);
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
export function asMoonshotSchema(
  schema: JsonObject,
  use: "parameters" | "format",
): RewrittenSchema {
  const rewriting = new Rewriting(schema);
  return { schema: rewriting.root(use), lost: [...rewriting.lost] };
}

/** Keywords that a schema loses, with their values. */
type Losses = Map<string, unknown>;

class Rewriting {
  readonly lost = new Set<string>();
  private readonly references: SchemaReferences;
  private count = 0;

  constructor(private readonly given: JsonObject) {
    this.references = new SchemaReferences(given);
  }

  root(use: "parameters" | "format"): JsonObject {
    const made = use === "parameters" ? this.parameters() : this.rewritten(this.given, 0);
    const definitions: Record<string, unknown> = {};
    // Definitions may name further ones, which are then added to the end.
    for (const [name, definition] of this.references.used())
      definitions[name] = this.rewritten(definition, 0);
    return Object.keys(definitions).length > 0 ? { ...made, $defs: definitions } : made;
  }

  private parameters(): JsonObject {
    const { object, lost } = oneObject(this.given, this.references);
    return this.described(this.rewritten(object, 0), lost);
  }

  private rewritten(given: unknown, level: number): JsonObject {
    this.count += 1;
    if (given === true) return { anyOf: ANY };
    if (!isObject(given) || this.count > SCHEMAS_MAX || level > LEVELS_MAX) {
      return this.described({ anyOf: ANY }, new Map([["schema", given]]));
    }
    const lost: Losses = new Map();
    const before = this.references.leftOut;
    const joined = conjunction(given, this.references);
    const isLess = this.references.leftOut > before || joined["allOf"] !== undefined;
    if (isLess) lost.set("allOf", given["allOf"] ?? joined["allOf"]);
    return this.described(this.single(joined, level, lost), lost);
  }

  /** Rewrites a schema without `allOf`. */
  private single(joined: JsonObject, level: number, lost: Losses): JsonObject {
    const union = unionOf(joined);
    const isSplit = union && (isObject(joined["properties"]) || joined["required"] !== undefined);
    for (const keyword of UNIONS) {
      const branches = joined[keyword];
      if (Array.isArray(branches) && (isSplit || branches !== union)) lost.set(keyword, branches);
    }
    const schema = isSplit ? disjunction(joined, union, this.references) : joined;
    if (typeof schema["$ref"] === "string") return this.reference(schema, schema["$ref"], lost);
    const made = this.keywords(schema, level + 1, lost);
    if (union && !isSplit) return this.union(made, union, level + 1, lost);
    const typed = typedEnum(made, lost);
    if (typed["type"] !== undefined) return typed;
    const { anyOf, ...beside } = typed;
    const keyword = Object.keys(beside).find((name) => TYPE_OF_KEYWORD.has(name));
    if (keyword && !anyOf) return { type: TYPE_OF_KEYWORD.get(keyword), ...beside };
    const kept = only(beside, [...ANNOTATIONS, "default"]);
    for (const [name, value] of Object.entries(beside)) {
      if (kept[name] === undefined) lost.set(name, value);
    }
    return { ...kept, anyOf: anyOf ?? ANY };
  }

  private reference(schema: JsonObject, $ref: string, lost: Losses): JsonObject {
    const to = this.references.nameOf($ref);
    if (to === undefined) lost.set("$ref", $ref);
    const target = this.references.target($ref);
    for (const [name, value] of Object.entries(schema)) {
      const isSaid = ANNOTATIONS.includes(name) || NAMES.has(name) || name === "$ref";
      if (!isSaid && !isDeepStrictEqual(target?.[name], value)) lost.set(name, value);
    }
    return { ...(to === undefined ? { anyOf: ANY } : { $ref: to }), ...only(schema, ANNOTATIONS) };
  }

  /** Moves the type of a union into those of its branches that have no type. */
  private union(
    made: JsonObject,
    branches: readonly unknown[],
    level: number,
    lost: Losses,
  ): JsonObject {
    const { type } = made;
    const anyOf = branches
      .filter((branch) => branch !== false)
      .map((branch) => {
        const isTyped =
          !isObject(branch) ||
          ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"].some(
            (name) => branch[name] !== undefined,
          );
        return this.rewritten(isTyped || type === undefined ? branch : { type, ...branch }, level);
      });
    const hasDefault = anyOf.some((branch) => branch["default"] !== undefined);
    const kept = only(made, hasDefault ? ANNOTATIONS : [...ANNOTATIONS, "default"]);
    for (const [name, value] of Object.entries(made)) {
      const isSaid = name === "type" && anyOf.every((branch) => isWithin(branch["type"], type));
      if (!isSaid && kept[name] === undefined) lost.set(name, value);
    }
    return { ...kept, anyOf: anyOf.length > 0 ? anyOf : ANY };
  }

  /** Rewrites the values of the keywords, and leaves out keywords that Kimi refuses. */
  private keywords(schema: JsonObject, level: number, lost: Losses): JsonObject {
    const made: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(schema)) {
      if (REMOVED.has(name) || (value === null && !MAY_BE_NULL.has(name))) continue;
      if (name === "properties" && isObject(value)) {
        made[name] = Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [key, this.rewritten(inner, level)]),
        );
      } else if (name === "additionalProperties" && isObject(value)) {
        made[name] = Object.keys(value).length === 0 || this.rewritten(value, level);
      } else if (name === "type") {
        if (isType(value)) made[name] = value;
        else lost.set(name, value);
      } else if (name === "description") {
        if (typeof value === "string") made[name] = value;
      } else if (name === "required") {
        const known = objectOf(schema["properties"]) ?? {};
        const names = arrayOf(value).filter((key) => Object.hasOwn(known, String(key)));
        if (names.length > 0) made[name] = names;
        if (names.length < arrayOf(value).length || value === true) lost.set(name, value);
      } else if (holdsSchemas(name) && !HOLDERS.has(name)) lost.set(name, value);
      else made[name] = value;
    }
    const items = this.items(schema, level, lost);
    if (items) made["items"] = items;
    if (schema["const"] !== undefined) made["enum"] = [schema["const"]];
    return made;
  }

  /** Returns the schema of a list's items. A tuple becomes a list of any of its members. */
  private items(schema: JsonObject, level: number, lost: Losses): JsonObject | undefined {
    const { items, prefixItems } = schema;
    if (items === false) lost.set("items", items);
    const isTuple = Array.isArray(items);
    const tuple = isTuple ? items : arrayOf(prefixItems);
    if (tuple.length === 0) return isObject(items) ? this.rewritten(items, level) : undefined;
    lost.set(isTuple ? "items" : "prefixItems", tuple);
    const members = isObject(items) ? [...tuple, items] : tuple;
    return this.rewritten(members.length === 1 ? members[0] : { anyOf: members }, level);
  }

  /** Describes what a schema loses. Its references lead to definitions that stay. */
  private described(made: JsonObject, lost: ReadonlyMap<string, unknown>): JsonObject {
    const draft = new SchemaDraft(made);
    const renamed = (name: string, value: unknown) =>
      name === "$ref" && typeof value === "string"
        ? (this.references.nameOf(value) ?? value)
        : value;
    for (const [keyword, value] of lost) {
      this.lost.add(keyword);
      draft.describe(keyword, renamed(keyword, value), renamed);
    }
    return draft.finished();
  }
}

function isWithin(types: unknown, stated: unknown): boolean {
  const all = [stated].flat();
  return [types]
    .flat()
    .every((type) => all.includes(type) || (type === "integer" && all.includes("number")));
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
function typedEnum(schema: JsonObject, lost: Losses): JsonObject {
  const { enum: given, type, ...rest } = schema;
  if (given === undefined) return schema;
  const values = arrayOf(given).filter((value) => typeOf(value) !== undefined);
  if (values.length === 0 || values.length < arrayOf(given).length) lost.set("enum", given);
  const types = typesOf(values);
  const stated = rest["nullable"] === true ? [type, "null"].flat() : type;
  if (type !== undefined && !isWithin(types, stated)) lost.set("type", type);
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
