import { isObject, type JsonObject } from "../../core/plugin/index.ts";
import { objectIn } from "./ask.ts";

const DEPTH_MAX = 16;

/**
 * Returns a value that fits a JSON schema: an object with its required properties, each text is
 * `text`. Follows references and takes the first of several forms.
 */
export function sampleOf(schema: JsonObject, text: string): unknown {
  return valueFor(schema, { root: schema, text }, 0);
}

/** Returns arguments that fit the schema of a tool, which is an object. */
export function sampleArguments(schema: JsonObject, text: string): JsonObject {
  const sample = sampleOf(schema, text);
  return isObject(sample) ? sample : {};
}

interface Context {
  readonly root: JsonObject;
  readonly text: string;
}

function valueFor(schema: unknown, context: Context, depth: number): unknown {
  if (!isObject(schema) || depth > DEPTH_MAX) return null;
  const inner = (next: unknown) => valueFor(next, context, depth + 1);
  if (schema["const"] !== undefined) return schema["const"];
  const { $ref, enum: options, type, minItems, minimum } = schema;
  if (typeof $ref === "string") return inner(referred(context.root, $ref));
  if (Array.isArray(options)) return options[0] ?? null;
  const forms = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (Array.isArray(forms)) return inner(forms[0]);
  switch (Array.isArray(type) ? type[0] : type) {
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array": {
      const length = typeof minItems === "number" ? Math.min(minItems, DEPTH_MAX) : 0;
      return Array.from({ length }, () => inner(schema["items"]));
    }
    case "string":
      return context.text;
    default:
      return objectOf(schema, inner) ?? context.text;
  }
}

function objectOf(schema: JsonObject, inner: (next: unknown) => unknown): JsonObject | undefined {
  if (schema["type"] !== "object" && schema["properties"] === undefined) return undefined;
  const properties = objectIn(schema, "properties");
  const { required } = schema;
  const names = Object.keys(properties).filter(
    (name) => Array.isArray(required) && required.includes(name),
  );
  return Object.fromEntries(names.map((name) => [name, inner(properties[name])]));
}

/** Finds `#/$defs/name` in the schema. */
function referred(root: JsonObject, reference: string): unknown {
  const path = reference.split("/").slice(1);
  return path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), root);
}
