import { isObject, type JsonObject } from "../../../core/process/json.ts";
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

const LOOK_AROUND = /\(\?<?[=!]/;
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
  if (patterns.some((one) => one !== undefined && LOOK_AROUND.test(text(one)))) {
    return `regex lookaround is not supported. Found at $.${[...context, "pattern"].join(".")}`;
  }
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

/** Keywords and formats that a schema may have in strict mode. */
const STRICT_KEYWORDS = new Set([
  ...["type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"],
  ...["$ref", "$defs", "definitions", "description", "title", "default", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems"],
  ...["maxItems", "minLength", "maxLength", "$schema", "$id"],
]);
const STRICT_FORMATS = new Set([
  ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
]);

const strictFault: Visit = (schema, context) => {
  const place = `In context=(${context.map((step) => `'${step}'`).join(", ")})`;
  const odd = Object.keys(schema).find((name) => !STRICT_KEYWORDS.has(name));
  if (odd) return `${place}, '${odd}' is not permitted`;
  const format = schema["format"];
  if (format !== undefined && !STRICT_FORMATS.has(text(format))) {
    return `${place}, '${text(format)}' is not a valid format`;
  }
  return undefined;
};

/** Returns OpenAI's words about strict schemas that it cannot compile, and about the roots of all. */
export function openaiStrictRefusal({ tools, body, model }: Facts): string | undefined {
  for (const tool of tools) {
    const called = objectIn(tool, "function") ?? tool;
    const schema = objectIn(called, "parameters") ?? {};
    const name = `Invalid schema for function '${text(called["name"])}'`;
    const atRoot = ["oneOf", "anyOf", "allOf", "enum", "not"].find((one) => one in schema);
    if (atRoot && /^gpt-4/.test(model)) {
      return `${name}: schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`;
    }
    const fault = called["strict"] === true && faultIn(schema, strictFault);
    if (fault) return `${name}: ${fault}.`;
  }
  const format =
    objectIn(objectIn(body, "response_format") ?? {}, "json_schema") ??
    objectIn(objectIn(body, "text") ?? {}, "format");
  const schema = format && objectIn(format, "schema");
  if (!schema) return undefined;
  const name = `Invalid schema for response_format '${text(format["name"])}'`;
  if (schema["type"] !== "object") {
    return `${name}: schema must be a JSON Schema of 'type: "object"', got 'type: "${text(schema["type"])}"'.`;
  }
  const fault = format["strict"] === true && faultIn(schema, strictFault);
  return fault ? `${name}: ${fault}.` : undefined;
}

/** Keywords that Claude's grammars refuse. `minItems` may be 0 or 1. */
const NOT_IN_GRAMMAR = [
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"],
  ...["maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"],
  ...["patternProperties", "not", "if", "then", "else", "oneOf", "prefixItems", "contains"],
  ...["dependentSchemas", "dependentRequired"],
];
const GRAMMAR_FORMATS = new Set([...STRICT_FORMATS, "uri"]);

const grammarFault: Visit = (schema) => {
  const type = text(schema["type"]);
  const odd = NOT_IN_GRAMMAR.filter((name) => name in schema);
  if (Number(schema["minItems"] ?? 0) > 1) odd.push("minItems");
  if (odd.length > 0) return `For '${type}' type, properties ${odd.join(", ")} are not supported`;
  const format = schema["format"];
  if (format !== undefined && !GRAMMAR_FORMATS.has(text(format))) {
    return `For 'string' type, format '${text(format)}' is not supported`;
  }
  const isObjects = type === "object" || (Array.isArray(schema["type"]) && "properties" in schema);
  return isObjects && schema["additionalProperties"] !== false
    ? "For 'object' type, 'additionalProperties' must be explicitly set to false"
    : undefined;
};

/** Returns Claude's words about schemas that no draft of 2020 has, or that its grammars refuse. */
export function claudeSchemaRefusal({ tools, body }: Facts): string | undefined {
  const format = objectIn(objectIn(body, "output_config") ?? {}, "format")?.["schema"];
  const strict = tools.filter((tool) => tool["strict"] === true);
  for (const [at, { input_schema: schema }] of tools.entries()) {
    if (faultIn(schema, notOfDraft)) {
      return `tools.${at}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12`;
    }
  }
  for (const [at, { input_schema: schema }] of strict.entries()) {
    const fault = faultIn(schema, grammarFault);
    if (fault) return `tools.${at}.custom: ${fault}`;
  }
  const fault = faultIn(format, grammarFault);
  if (fault) return `output_config.format.schema: ${fault}`;
  if (strict.length > 20)
    return `Too many strict tools (${strict.length}). At most 20 are allowed.`;
  const schemas = [...strict.map((tool) => tool["input_schema"]), format];
  const optional = sum(schemas, ({ properties, required }) => {
    const names = isObject(properties) ? Object.keys(properties) : [];
    return names.filter((name) => !(Array.isArray(required) && required.includes(name))).length;
  });
  if (optional > 24) return `Schemas contains too many optional parameters (${optional})`;
  const unions = sum(schemas, ({ type, anyOf }) => (Array.isArray(type) || anyOf ? 1 : 0));
  if (unions > 16) return `Schemas contains too many parameters with union types (${unions})`;
  return undefined;
}

const notOfDraft: Visit = (schema) =>
  Object.entries(TYPES).some(([name, type]) => {
    const value = schema[name];
    if (value === undefined) return false;
    return (Array.isArray(value) ? "array" : value === null ? "null" : typeof value) !== type;
  }) || Array.isArray(schema["items"])
    ? "is no schema"
    : undefined;

function sum(schemas: readonly unknown[], count: (schema: JsonObject) => number): number {
  let total = 0;
  for (const schema of schemas) {
    faultIn(schema, (inner) => {
      total += count(inner);
      return undefined;
    });
  }
  return total;
}

/** Keywords that Gemini's Schema and its structured outputs have. */
const GOOGLE_KEYWORDS = new Set([
  ...["type", "format", "title", "description", "nullable", "enum", "default", "example", "items"],
  ...["prefixItems", "minItems", "maxItems", "minimum", "maximum", "properties", "required"],
  ...["minProperties", "maxProperties", "propertyOrdering", "minLength", "maxLength", "pattern"],
  ...["anyOf", "oneOf", "additionalProperties", "$ref", "$defs", "definitions", "$id", "$anchor"],
  ...["$schema"],
]);

/** Returns Gemini's words about keywords that it does not know. */
export function googleWordsRefusal({ tools }: Facts): string | undefined {
  for (const [at, tool] of tools.entries()) {
    const name = faultIn(objectIn(tool, "function")?.["parameters"], (schema) =>
      Object.keys(schema).find((keyword) => !GOOGLE_KEYWORDS.has(keyword)),
    );
    if (!name) continue;
    const place = `tools[0].function_declarations[${at}].parameters`;
    return `Invalid JSON payload received. Unknown name "${name}" at '${place}': Cannot find field.`;
  }
  return undefined;
}

/** Returns the words of Grok about a schema that refers to one around it. */
export function xaiSchemaRefusal({ tools }: Facts): string | undefined {
  for (const tool of tools) {
    const root = objectIn(objectIn(tool, "function") ?? tool, "parameters") ?? {};
    const leadsBack = (schema: unknown, around: readonly string[]): boolean => {
      const names = new Set<string>();
      faultIn(schema, ({ $ref }) => {
        if (typeof $ref === "string") names.add($ref);
        return undefined;
      });
      return [...names].some((name) => {
        if (name === "#" || around.includes(name)) return true;
        const steps = name.startsWith("#/") ? name.slice(2).split("/") : undefined;
        const target = steps?.reduce<unknown>((at, step) => (isObject(at) ? at[step] : at), root);
        return isObject(target) && leadsBack(target, [...around, name]);
      });
    };
    if (leadsBack(root, [])) return "Invalid request content: circular $ref is not supported.";
  }
  return undefined;
}

/** Returns Mistral's words about the names of a schema. */
export function mistralSchemaRefusal({ tools }: Facts): string | undefined {
  const fault = tools
    .map((tool) =>
      faultIn(objectIn(tool, "function")?.["parameters"], (schema) =>
        ["$id", "$schema"].find((name) => name in schema),
      ),
    )
    .find(Boolean);
  return fault && `Grammar error: failed to compile JSON schema: unexpected ${fault}`;
}

/** Returns Gemini's words about an array of a tool that does not say what its items are, or an enum of other values than texts. */
export function googleSchemaRefusal({ tools }: Facts): string | undefined {
  for (const [at, tool] of tools.entries()) {
    const declaration = `tools[0].function_declarations[${at}].parameters`;
    const fault = faultIn(objectIn(tool, "function")?.["parameters"], (schema, context) => {
      const steps = context.map((step, n) => (n % 2 === 0 ? `.${step}` : `[${step}]`));
      const place = `${declaration}${steps.join("")}`;
      if (lacksItems(schema)) return `* GenerateContentRequest.${place}.items: missing field.`;
      const { enum: values, type } = schema;
      if (!Array.isArray(values)) return undefined;
      if (
        type !== undefined &&
        type !== "string" &&
        !(Array.isArray(type) && type.includes("string"))
      )
        return `* GenerateContentRequest.${place}.enum: only allowed for STRING type`;
      const other = values.findIndex((value) => typeof value !== "string");
      if (other >= 0)
        return `Invalid value at '${place}.enum[${other}]' (TYPE_STRING), ${values[other]}`;
      const empty = values.indexOf("");
      return empty >= 0
        ? `* GenerateContentRequest.${place}.enum[${empty}]: cannot be empty`
        : undefined;
    });
    if (fault) return fault;
  }
  return undefined;
}
