import { isObject, type JsonObject } from "../../../plugins/simulator/ask.ts";
import { type Facts, objectIn, objects, text } from "./rule.ts";

const INSIDE = ["items", "additionalProperties", "not", "if", "then", "else", "contains"];
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/** The types of keywords that clients get wrong. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ required: "array", enum: "array", properties: "object", description: "string" },
  ...{
    minimum: "number",
    maximum: "number",
    exclusiveMinimum: "number",
    exclusiveMaximum: "number",
  },
};

/** Parts of patterns that JavaScript takes and `re` of Python refuses. */
const NOT_PYTHON = /\\[pPkcehyz]|\\u(?![\da-fA-F]{4})|\(\?<(?![=!])|\[\^?\]|\[[^\]]*\\[wds]-[^\]]/;

type Visit = (schema: JsonObject, context: readonly (string | number)[]) => string | undefined;

/** Returns what `visit` says about the first schema inside of a schema that it has something to say about. */
function faultIn(
  given: unknown,
  visit: Visit,
  context: readonly (string | number)[] = [],
): string | undefined {
  if (!isObject(given)) return undefined;
  const inner: (readonly [unknown, readonly (string | number)[]])[] = [
    ...INSIDE.map((name) => [given[name], [name]] as const),
    ...LISTS.flatMap((name) => objects(given[name]).map((one, at) => [one, [name, at]] as const)),
    ...NAMED.flatMap((name) =>
      Object.entries(objectIn(given, name) ?? {}).map(([key, one]) => [one, [name, key]] as const),
    ),
  ];
  for (const [schema, steps] of inner) {
    const fault = faultIn(schema, visit, [...context, ...steps]);
    if (fault) return fault;
  }
  return visit(given, context);
}

function lacksItems({ type, items }: JsonObject): boolean {
  const isArray = type === "array" || (Array.isArray(type) && type.includes("array"));
  return isArray && (items === undefined || items === null);
}

/** The words of OpenAI, which checks schemas with Python's `jsonschema`. */
const openaiFault: Visit = (schema, context) => {
  for (const [name, type] of Object.entries(TYPES)) {
    const value = schema[name];
    if (value === undefined) continue;
    const own = Array.isArray(value) ? "array" : value === null ? "None" : typeof value;
    if (own !== type) return `${value === null ? "None" : String(value)} is not of type '${type}'`;
  }
  const patterns = [schema["pattern"], ...Object.keys(objectIn(schema, "patternProperties") ?? {})];
  const wrong = patterns.find(
    (one) => one !== undefined && NOT_PYTHON.test(text(one).replaceAll("\\\\", "")),
  );
  if (wrong !== undefined) return `'${text(wrong)}' is not a 'regex'`;
  if (/\s/.test(text(schema["$id"]))) return `'${text(schema["$id"])}' is not a 'uri-reference'`;
  if (Array.isArray(schema["items"])) {
    return `${JSON.stringify(schema["items"])} is not of type 'object', 'boolean'`;
  }
  if (!lacksItems(schema)) return undefined;
  const steps = context.map((step) => `'${step}'`).join(", ");
  return `In context=(${steps}), array schema missing items`;
};

/** Returns OpenAI's words about the schemas of a request in Chat or Responses. */
export function openaiSchemaRefusal({ tools, body }: Facts): string | undefined {
  for (const tool of tools) {
    const called = objectIn(tool, "function") ?? tool;
    const fault = faultIn(called["parameters"], openaiFault);
    if (fault) return `Invalid schema for function '${text(called["name"])}': ${fault}.`;
  }
  const format =
    objectIn(objectIn(body, "response_format") ?? {}, "json_schema") ??
    objectIn(objectIn(body, "text") ?? {}, "format");
  const fault = faultIn(format?.["schema"], openaiFault);
  return fault && `Invalid schema for response_format '${text(format?.["name"])}': ${fault}.`;
}

/** Returns Gemini's words about an array of a tool that does not say what its items are. */
export function googleSchemaRefusal({ tools }: Facts): string | undefined {
  for (const [at, tool] of tools.entries()) {
    const place = faultIn(objectIn(tool, "function")?.["parameters"], (schema, context) => {
      const steps = context.map((step, n) => (n % 2 === 0 ? `.${step}` : `[${step}]`));
      return lacksItems(schema) ? `${steps.join("")}.items` : undefined;
    });
    if (!place) continue;
    const declaration = `GenerateContentRequest.tools[0].function_declarations[${at}].parameters`;
    return `* ${declaration}${place}: missing field.`;
  }
  return undefined;
}
