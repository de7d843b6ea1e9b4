import { isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";

/** Keywords that hold a schema, or a list of schemas. Keywords that hold data, such as `enum`, are in neither table. */
const SCHEMAS = [
  ...["items", "prefixItems", "contains", "additionalItems", "unevaluatedItems"],
  ...["additionalProperties", "unevaluatedProperties", "propertyNames"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else"],
];
/** Keywords that hold schemas by name. A property may have the name of a keyword. */
const NAMED_SCHEMAS = [
  ...["properties", "patternProperties", "dependentSchemas", "dependencies"],
  ...["$defs", "definitions"],
];
const POSITIONS: ReadonlyMap<string, "schemas" | "named"> = new Map([
  ...SCHEMAS.map((keyword) => [keyword, "schemas"] as const),
  ...NAMED_SCHEMAS.map((keyword) => [keyword, "named"] as const),
]);

/**
 * Returns the value of a keyword with each schema directly inside replaced by what `map` returns; the value itself if
 * nothing changes, or if the keyword holds no schemas.
 */
export function mapSchemasIn(
  keyword: string,
  value: unknown,
  map: (schema: JsonObject) => JsonObject,
): unknown {
  const position = POSITIONS.get(keyword);
  if (position === undefined) return value;
  if (Array.isArray(value)) return position === "schemas" ? mapList(value, map) : value;
  if (!isObject(value)) return value;
  return position === "schemas" ? map(value) : mapNamed(value, map);
}

/** Returns true for a keyword whose value is a schema, or has schemas directly inside. */
export function holdsSchemas(keyword: string): boolean {
  return POSITIONS.has(keyword);
}

/** Returns the schemas directly inside of a schema. Some may be booleans. */
export function schemasIn(schema: JsonObject): unknown[] {
  const lists = SCHEMAS.map((keyword) => schema[keyword]);
  const named = NAMED_SCHEMAS.map((keyword) => Object.values(objectOf(schema[keyword]) ?? {}));
  return [...lists.flat(), ...named.flat()];
}

function mapList(list: readonly unknown[], map: (schema: JsonObject) => JsonObject): unknown {
  const mapped = list.map((entry) => (isObject(entry) ? map(entry) : entry));
  return mapped.some((entry, at) => entry !== list[at]) ? mapped : list;
}

function mapNamed(named: JsonObject, map: (schema: JsonObject) => JsonObject): JsonObject {
  let isChanged = false;
  const mapped = Object.entries(named).map(([name, value]) => {
    const made = isObject(value) ? map(value) : value;
    if (made !== value) isChanged = true;
    return [name, made] as const;
  });
  // fromEntries defines keys, so a property called __proto__ stays an ordinary property.
  return isChanged ? Object.fromEntries(mapped) : named;
}
