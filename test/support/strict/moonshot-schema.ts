import { isObject, type JsonObject } from "../../../core/process/json.ts";

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
/** Keywords that may stand in a union and in its branches. */
const ANNOTATIONS = ["title", "description"];

/**
 * Returns the reason for which Kimi refuses a schema, after the rules of its own validator;
 * undefined if it accepts it. Source: MoonshotAI/walle, level strict; a property without a type:
 * earendil-works/pi#4138.
 */
export function schemaFault(schema: unknown): string | undefined {
  if (!isObject(schema)) return "schema must be an object";
  const definitions = isObject(schema["$defs"]) ? schema["$defs"] : {};
  const check = (given: unknown, path: string): string | undefined => {
    const at = (why: string) => `<At path '${path || "root"}': ${why}>`;
    if (!isObject(given)) return at("schema must be an object");
    const { $ref, type, anyOf, items, properties, additionalProperties } = given;
    if (type !== undefined && anyOf !== undefined) {
      return at(
        "when using anyOf, type should be defined in anyOf items instead of the parent schema",
      );
    }
    if (type !== undefined && $ref !== undefined) {
      return at("when using $ref, type should be defined in the referenced schema");
    }
    if ($ref !== undefined) {
      if ($ref === "#") return undefined;
      const name = typeof $ref === "string" ? /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1] : undefined;
      if (name === undefined) return at("references must start with #/$defs/");
      return Object.hasOwn(definitions, name) ? undefined : at(`invalid $ref path: ${name}`);
    }
    if (given["description"] !== undefined && typeof given["description"] !== "string") {
      return at("description must be a string");
    }
    if (anyOf === undefined && type === undefined && path !== "") return at("type is not defined");
    const fault = typeFault(type) ?? enumFault(given) ?? requiredFault(given) ?? unionFault(given);
    if (fault) return at(fault);
    if (items !== undefined && !isObject(items)) return at("items must be an object");
    const inner: [string, unknown][] = [
      ...Object.entries(isObject(properties) ? properties : {}),
      ...Object.entries(isObject(given["$defs"]) ? given["$defs"] : {}),
      ...(Array.isArray(anyOf)
        ? anyOf.map((one, n): [string, unknown] => [`anyOf{${n}}`, one])
        : []),
      ...(items === undefined ? [] : [["items", items] as [string, unknown]]),
    ];
    if (isObject(additionalProperties)) inner.push(["additionalProperties", additionalProperties]);
    for (const [name, child] of inner) {
      const found = check(child, path === "" ? name : `${path}.${name}`);
      if (found) return found;
    }
    return undefined;
  };
  return check(schema, "");
}

function typeFault(type: unknown): string | undefined {
  if (type === undefined) return undefined;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types.length > 0 && types.every((one) => TYPES.includes(String(one)))
    ? undefined
    : "invalid type";
}

function enumFault({ enum: values, type }: JsonObject): string | undefined {
  if (values === undefined) return undefined;
  if (!Array.isArray(values) || values.length === 0) return "enum array cannot be empty";
  if (type === undefined) return "type is not defined";
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.length > 2 || (types.length === 2 && !types.includes("null"))) {
    return "when type is array and enum is specified, currently only 2 types are supported, one must be null";
  }
  const wrong = values.find((value) => !types.some((one) => isOf(value, one)));
  return wrong === undefined
    ? undefined
    : `enum value (${String(wrong)}) does not match any type in ${String(types)}`;
}

function isOf(value: unknown, type: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type && value !== null;
}

function requiredFault({ required, properties }: JsonObject): string | undefined {
  if (!Array.isArray(required)) return undefined;
  const known = isObject(properties) ? properties : {};
  const missing = required.find((name) => !Object.hasOwn(known, String(name)));
  return missing === undefined
    ? undefined
    : `required property '${String(missing)}' is not defined in properties`;
}

function unionFault(given: JsonObject): string | undefined {
  const { anyOf, ...outer } = given;
  if (anyOf === undefined) return undefined;
  if (!Array.isArray(anyOf) || anyOf.length === 0) return "anyOf must have 1-500 items";
  const both = anyOf
    .flatMap((branch) => (isObject(branch) ? Object.keys(branch) : []))
    .find((name) => name in outer && !ANNOTATIONS.includes(name));
  return both && `conflicting keywords found in anyOf with parent: keywords (${both})`;
}
