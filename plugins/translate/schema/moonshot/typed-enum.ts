import { arrayOf, type JsonObject } from "../../../../core/plugin/index.ts";

/**
 * Gives an enum the type of its values: Kimi wants one, or one and null. Values of several types
 * become a union. Lists and objects, which it refuses, are left out.
 */
export function typedEnum(schema: JsonObject): JsonObject {
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
