import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { isObject, type JsonObject } from "../../../../core/process/json.ts";
import { DIALECTS, OPENAI } from "../../../../plugins/translate/schema/dialect.ts";
import { asMoonshotSchema } from "../../../../plugins/translate/schema/moonshot.ts";
import { isRe2Pattern } from "../../../../plugins/translate/schema/re2-pattern.ts";
import { rewriteParameters, rewriteSchema } from "../../../../plugins/translate/schema/rewrite.ts";
import { schemaFault } from "../../../support/strict/moonshot-schema.ts";
import type { Family } from "../../../support/strict/rule.ts";
import {
  googleSchemaRefusal,
  googleWordsRefusal,
  mistralSchemaRefusal,
  openaiSchemaRefusal,
  xaiSchemaRefusal,
} from "../../../support/strict/schema.ts";
import { SUITE } from "./suite.ts";

const MAKERS = ["openai", "google", "xai", "mistral", "moonshot"] as const;

const text = { type: "string" };
const node = { type: "object", properties: { next: { $ref: "#/$defs/N" } } };
const dialectOf = (maker: string) => DIALECTS.get(maker) ?? OPENAI;

/** Schemas, and what each maker gets: the schema, and the keywords that had to go. */
const ROWS: readonly (readonly [maker: Family, given: JsonObject, sent: object, ...string[]])[] = [
  ["google", { const: "a" }, { enum: ["a"] }],
  [
    "google",
    { type: "integer", exclusiveMinimum: 0, description: "d" },
    { type: "integer", description: "d\nexclusiveMinimum: 0" },
    "exclusiveMinimum",
  ],
  ["google", { ...text, format: "date" }, { ...text, format: "date" }],
  ["google", { ...text, format: "uri" }, { ...text, description: "format: uri" }, "format"],
  [
    "google",
    { ...text, pattern: "^(?!a)" },
    { ...text, description: "pattern: ^(?!a)" },
    "pattern",
  ],
  ["google", { ...text, pattern: "^\\p{L}+$" }, { ...text, pattern: "^\\p{L}+$" }],
  [
    "google",
    { allOf: [{ properties: { a: text } }, { properties: { b: { const: 1 } } }] },
    { properties: { b: { description: "enum: [1]" }, a: text } },
    "enum",
  ],
  [
    "google",
    { type: "integer", enum: [60, 1440], description: "Minutes." },
    { type: "integer", description: "Minutes.\nenum: [60,1440]" },
    "enum",
  ],
  [
    "google",
    { type: "boolean", const: true },
    { type: "boolean", description: "enum: [true]" },
    "enum",
  ],
  ["google", { ...text, enum: ["", "a"] }, { ...text, description: 'enum: ["","a"]' }, "enum"],
  ["google", { ...text, enum: ["a", "b"] }, { ...text, enum: ["a", "b"] }],
  [
    "google",
    { allOf: [{ pattern: "^a" }, { pattern: "z$" }] },
    { pattern: "^a", description: 'allOf: [{"pattern":"^a"},{"pattern":"z$"}]' },
    "allOf",
  ],
  [
    "google",
    { minLength: 1, allOf: [{ minLength: 5, title: "A" }], title: "B" },
    { minLength: 1, title: "B", description: 'allOf: [{"minLength":5,"title":"A"}]' },
    "allOf",
  ],
  [
    "google",
    { allOf: [{ properties: { a: text } }, { properties: { a: { enum: ["x"] } } }] },
    {
      properties: { a: text },
      description:
        'allOf: [{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"enum":["x"]}}}]',
    },
    "allOf",
  ],
  [
    "google",
    {
      allOf: [
        { ...text, properties: { a: text } },
        { ...text, properties: { a: { ...text } } },
      ],
    },
    { ...text, properties: { a: text } },
  ],
  ["google", { not: text }, { description: 'not: {"type":"string"}' }, "not"],
  [
    "google",
    { oneOf: [{ type: "integer", multipleOf: 2 }, text] },
    { anyOf: [{ type: "integer", description: "multipleOf: 2" }, text] },
    "multipleOf",
  ],
  [
    "xai",
    { type: "object", properties: { a: { type: "object" } } },
    {
      ...{ type: "object", additionalProperties: true },
      properties: { a: { type: "object", additionalProperties: true } },
    },
  ],
  [
    "xai",
    { type: ["object", "null"], additionalProperties: false },
    { type: ["object", "null"], additionalProperties: false },
  ],
  [
    "xai",
    { $ref: "#/$defs/N", $defs: { N: { ...node, additionalProperties: false } } },
    {
      $ref: "#/$defs/N",
      $defs: {
        N: {
          ...{ type: "object", additionalProperties: false },
          properties: { next: { description: "$ref: #/$defs/N" } },
        },
      },
    },
    "$ref",
  ],
  ["xai", { items: { $ref: "#" } }, { items: { description: "$ref: #" } }, "$ref"],
  [
    "mistral",
    { $schema: "http://json-schema.org/draft-07/schema#", $id: "a", ...text },
    { ...text },
  ],
  ["moonshot", { exclusiveMinimum: 0 }, { exclusiveMinimum: 0 }],
];

t.test("each maker gets a schema in its own dialect", async (t) => {
  for (const [maker, given, sent, ...lost] of ROWS) {
    const what = `${maker}: ${JSON.stringify(given)}`;
    const before = JSON.stringify(given);
    const made = rewriteSchema(given, dialectOf(maker));
    t.strictSame(made.schema, sent, what);
    t.strictSame(made.lost, lost, `${what}: what had to go`);
    t.equal(JSON.stringify(given), before, `${what}: the given schema is not changed`);
  }
});

t.test("the root of a tool stays open for Grok", async (t) => {
  const { schema } = rewriteParameters({ anyOf: [{ required: ["a"] }] }, dialectOf("xai"));
  t.match(schema, { type: "object", additionalProperties: true });
});

t.test("what the root of a tool says beside a reference is described", async (t) => {
  const A = { type: "object", properties: { a: { ...text, maxLength: 5 } } };
  const own = { properties: { a: { ...text, minLength: 1 } } };
  const union = { anyOf: [{ required: ["a"] }, { required: ["b"] }] };
  for (const maker of ["openai", "google", "mistral"]) {
    const beside = { $ref: "#/$defs/A", ...own, $defs: { A } };
    const described = { type: "object", ...own, description: "$ref: #/$defs/A", $defs: { A } };
    const made = rewriteParameters(beside, dialectOf(maker));
    t.strictSame(made, { schema: described, lost: ["$ref"] }, maker);
    const same = rewriteParameters({ ...beside, ...A }, dialectOf(maker));
    t.strictSame(same.lost, [], `${maker}: nothing differs`);
    const nowhere = rewriteParameters({ $ref: "#/$defs/B" }, dialectOf(maker));
    t.match(nowhere, { schema: { description: "$ref: #/$defs/B" }, lost: ["$ref"] }, maker);
    const behind = rewriteParameters({ $ref: "#/$defs/U", $defs: { U: union } }, dialectOf(maker));
    t.match(behind.schema["description"], `anyOf: ${JSON.stringify(union.anyOf)}`, maker);
  }
});

t.test("the target of many references is looked into once", async (t) => {
  let reads = 0;
  const many: unknown[] = [...Array(1_000).fill({}), { $ref: "#/$defs/A" }];
  const anyOf = new Proxy(many, {
    get(list, name) {
      reads += 1;
      return Reflect.get(list, name);
    },
  });
  for (const to of ["A", "B", "C"]) {
    const names = Array.from({ length: 200 }, (_, at) => [`p${at}`, { $ref: `#/$defs/${to}` }]);
    const given = {
      properties: Object.fromEntries(names),
      $defs: {
        A: { anyOf },
        B: { anyOf: [{ $ref: "#/$defs/A" }] },
        C: { anyOf: [{ $ref: "#/nowhere" }, { $ref: "#/$defs/A" }] },
      },
    };
    reads = 0;
    const { schema } = rewriteSchema(given, dialectOf("xai"));
    t.match(JSON.stringify(schema), '"description":"$ref: #/$defs/A"', to);
    t.ok(reads < 20_000, `${to}: ${reads} reads`);
  }
});

t.test("a recursive schema with allOf is joined once, and so is one inside of many", async (t) => {
  const child = { allOf: [{ $ref: "#/$defs/Node" }, { description: "left" }] };
  const Node = { type: "object", properties: { child } };
  const { schema, lost } = rewriteSchema({ $defs: { Node } }, dialectOf("google"));
  const left = `left\nallOf: ${JSON.stringify(child.allOf)}`;
  const inner = { ...Node, description: "left", properties: { child: { description: left } } };
  t.strictSame(schema, { $defs: { Node: { ...Node, properties: { child: inner } } } });
  t.strictSame(lost, ["allOf"]);
  const twins = {
    type: "object",
    properties: { left: child, right: child, other: { items: child } },
  };
  const made = rewriteSchema({ ...twins, $defs: { Node: twins } }, dialectOf("google"));
  t.ok(JSON.stringify(made.schema).length < 10_000);
  const links = Array.from({ length: 2_000 }, (_, at) => {
    const next = { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { title: "a" }] };
    return [`d${at}`, { properties: { next } }];
  });
  const chain = rewriteSchema({ $defs: Object.fromEntries(links) }, dialectOf("google"));
  t.ok(JSON.stringify(chain.schema).length < 2_000_000);
  const Big = { enum: Array.from({ length: 10_000 }, (_, at) => `value ${at}`) };
  const Many = { anyOf: Array(500).fill({ allOf: [{ $ref: "#/$defs/Big" }, { title: "a" }] }) };
  const grown = rewriteSchema({ $defs: { Big, Many } }, dialectOf("google"));
  t.ok(JSON.stringify(grown.schema).length < 1_000_000);
  t.strictSame(grown.lost, ["allOf"]);
});

t.test("patterns of engines in linear time", async (t) => {
  const good = ["^a{1,1000}$", "[a-z\\d]+", "\\p{Lu}", "(?:a|b)", "(?i)", "a\\.b", "\\\\1"];
  const bad = ["(?=a)", "(?<!a)", "(a)\\1", "\\u0041", "a{1001}", "[^]", "(", "(?<n>a)", "[\\w-.]"];
  for (const pattern of good.filter((one) => one !== "(?i)")) t.ok(isRe2Pattern(pattern), pattern);
  for (const pattern of bad) t.notOk(isRe2Pattern(pattern), pattern);
});

/** Shapes of zod, of pydantic, and of the keywords of JSON Schema. */
const SHAPES: readonly JsonObject[] = [
  { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 },
  { type: "integer", exclusiveMinimum: 0, maximum: 9007199254740991 },
  { type: "number", multipleOf: 0.5 },
  { ...text, format: "email", pattern: "^(?!\\.)(?!.*\\.\\.)([a-z]*)@x$" },
  { ...text, format: "date-time", pattern: "^\\d{4}-\\d{2}$" },
  { ...text, minLength: 1, maxLength: 3 },
  { ...text, pattern: "^\\p{L}{1,200}$" },
  { ...text, format: "uuid", title: "Id", default: "a" },
  { anyOf: [text, { type: "null" }], default: null, title: "Name" },
  { type: ["string", "null"] },
  { const: "a", title: "Kind" },
  { enum: ["a", "b", null] },
  { type: "array" },
  { type: "array", prefixItems: [text, { type: "integer" }], minItems: 2, maxItems: 2 },
  { type: "array", items: [text], additionalItems: false },
  { type: "array", items: text, uniqueItems: true },
  { type: "array", items: { type: "integer" }, contains: { const: 1 } },
  { type: "object", additionalProperties: text, propertyNames: { pattern: "^[a-z]+$" } },
  { type: "object", additionalProperties: {} },
  { type: "object", patternProperties: { "^\\p{L}": text }, additionalProperties: false },
  { type: "object", properties: { a: text }, required: ["a"], minProperties: 1 },
  { type: "object", properties: { a: text }, dependentRequired: { a: ["b"] } },
  { $ref: "#/$defs/Leaf" },
  { $ref: "#/$defs/Node", description: "a node" },
  { not: { type: "null" } },
  { if: { type: "string" }, else: { type: "integer" } },
  { allOf: [{ $ref: "#/$defs/Leaf" }], title: "One" },
  { allOf: [{ properties: { a: text } }, { properties: { b: text }, required: ["b"] }] },
  { oneOf: [{ const: 1 }, { const: 2 }], discriminator: { propertyName: "kind" } },
  { examples: ["a"], readOnly: true, deprecated: true, $comment: "c" },
  { $schema: "https://json-schema.org/draft/2020-12/schema", $id: "urn:a b", type: "boolean" },
];
const DEFINITIONS = {
  Leaf: { ...text, maxLength: 3 },
  Node: {
    ...{ type: "object", required: ["value"] },
    properties: { value: text, next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] } },
  },
};
const { schema: shapes } = fc.letrec<{ schema: JsonObject }>((tie) => {
  const inner = tie("schema");
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      { weight: 3, arbitrary: fc.constantFrom(...SHAPES) },
      fc
        .tuple(fc.constantFrom(...SHAPES), fc.constantFrom(...SHAPES))
        .map(([first, second]) => ({ ...first, ...second })),
      fc
        .dictionary(fc.constantFrom("a", "b", "kind", "$ref", "const"), inner, { maxKeys: 3 })
        .map((properties) => ({ type: "object", properties, additionalProperties: false })),
      inner.map((items) => ({ type: "array", items })),
      fc
        .tuple(fc.constantFrom("anyOf", "oneOf", "allOf"), fc.array(inner, { maxLength: 2 }))
        .map(([keyword, list]) => ({ [keyword]: list })),
    ),
  };
});
const roots = shapes.map((a) => ({
  ...{ type: "object", properties: { a }, required: ["a"] },
  $defs: DEFINITIONS,
}));

/** Returns the words of a maker about a tool with this schema. */
function refusal(maker: Family, schema: JsonObject): string | undefined {
  const tools = [{ type: "function", function: { name: "f", parameters: schema } }];
  const facts = {
    ...({ family: maker, protocol: "chat", model: "m", body: { tools }, tools } as const),
    ...{ turns: [], headers: {}, onBedrock: false, inputTokens: 0 },
  };
  switch (maker) {
    case "google":
      return googleSchemaRefusal(facts) ?? googleWordsRefusal(facts);
    case "xai":
      return xaiSchemaRefusal(facts);
    case "moonshot":
      return schemaFault(schema);
    case "mistral":
      return mistralSchemaRefusal(facts);
    default:
      return openaiSchemaRefusal(facts);
  }
}

/** Values that fit some of the shapes. */
const VALUES: readonly unknown[] = [
  ...["", "a", "ab", "long text", 0, 1, 2, 0.5, -3, true, null],
  ...[[], ["a"], ["a", 1], [1, 1], {}, { a: "a" }, { b: "b" }, { a: "a", b: "b", kind: 1 }],
  ...[{ value: "v" }, { value: "v", next: { value: "w", next: null } }],
];

/** Kimi has a rewriter of its own. */
const parametersFor = (maker: Family, given: JsonObject) =>
  maker === "moonshot"
    ? asMoonshotSchema(given, "parameters")
    : rewriteParameters(given, dialectOf(maker));

for (const maker of MAKERS) {
  t.test(
    `any schema for ${maker}: it is taken, twice is once, what fitted still fits`,
    async () => {
      let fitted = 0;
      fc.assert(
        fc.property(roots, (given) => {
          const before = JSON.stringify(given);
          const { schema, lost } = parametersFor(maker, given);
          assert.equal(JSON.stringify(given), before);
          assert.equal(refusal(maker, schema), undefined, JSON.stringify(schema));
          const again = parametersFor(maker, schema);
          // Definitions that only a description names stay for Kimi the first time.
          const named = maker === "moonshot" ? { $defs: undefined } : {};
          assert.deepEqual({ ...again.schema, ...named }, { ...schema, ...named });
          assert.deepEqual(again.lost, []);
          // Kimi alone loses keywords that allow more, and names them. It wants a type: the one that the keywords have.
          const read = maker === "moonshot" ? typed(given) : given;
          for (const a of maker === "moonshot" && lost.length > 0 ? [] : VALUES) {
            if (!fits({ a }, read, read)) continue;
            fitted += 1;
            assert.ok(fits({ a }, schema, schema), JSON.stringify({ a, given, schema }));
          }
        }),
        { numRuns: 2_000 },
      );
      assert.ok(fitted > 1_000, `${fitted} values fitted`);
    },
  );
}

for (const maker of MAKERS) {
  t.test(
    `each schema of JSON Schema's tests for ${maker}: it is taken, twice is once`,
    async () => {
      for (const given of SUITE) {
        const { schema } = parametersFor(maker, given);
        assert.equal(refusal(maker, schema), undefined, JSON.stringify(given));
        const again = parametersFor(maker, schema);
        const named = maker === "moonshot" ? { $defs: undefined } : {};
        assert.deepEqual({ ...again.schema, ...named }, { ...schema, ...named });
        assert.deepEqual(again.lost, [], JSON.stringify(given));
      }
      assert.ok(SUITE.length > 400, `${SUITE.length} schemas`);
    },
  );
}

const TYPES_OF_KEYWORDS: Readonly<Record<string, string>> = {
  ...{ properties: "object", required: "object", additionalProperties: "object" },
  ...{ items: "array", pattern: "string", minLength: "string", maxLength: "string" },
};

/** Returns the schema with a type for each one that has only keywords of one type. */
function typed<T>(given: T): T {
  if (Array.isArray(given)) return given.map(typed) as T;
  if (!isObject(given)) return given;
  const inside = Object.entries(given).map(([name, value]) => [name, typed(value)]);
  const parts = [given, ...(Array.isArray(given["allOf"]) ? given["allOf"] : [])].filter(isObject);
  const names = parts.flatMap(Object.keys);
  const isTyped = ["type", "anyOf", "oneOf", "$ref", "enum", "const"].some((name) =>
    names.includes(name),
  );
  const type = names.map((name) => TYPES_OF_KEYWORDS[name]).find((one) => one !== undefined);
  return Object.fromEntries(isTyped || !type ? inside : [...inside, ["type", type]]) as T;
}

/** Returns true if a value fits a schema, by the keywords of the shapes. */
function fits(value: unknown, schema: unknown, root: JsonObject): boolean {
  if (schema === false) return false;
  if (!isObject(schema)) return true;
  const one = (inner: unknown) => fits(value, inner, root);
  const list = (keyword: string) => (Array.isArray(schema[keyword]) ? schema[keyword] : []);
  const { $ref, anyOf, oneOf, type, not, pattern } = schema;
  if (typeof $ref === "string") {
    const steps = $ref === "#" ? [] : $ref.slice(2).split("/");
    if (!one(steps.reduce<unknown>((at, step) => (isObject(at) ? at[step] : at), root)))
      return false;
  }
  if (Array.isArray(anyOf) && !anyOf.some(one)) return false;
  if (Array.isArray(oneOf) && oneOf.filter(one).length !== 1) return false;
  if (!list("allOf").every(one)) return false;
  if (isObject(not) && one(not)) return false;
  if (isObject(schema["if"]) && !one(one(schema["if"]) ? schema["then"] : schema["else"])) {
    return false;
  }
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(value)) return false;
  if ("const" in schema && schema["const"] !== value) return false;
  const types = [type ?? typeOf(value)].flat();
  const own = typeOf(value);
  if (!types.includes(own) && !(own === "integer" && types.includes("number"))) return false;
  if (typeof value === "number") return fitsNumber(value, schema);
  if (typeof value === "string") {
    const { length } = value;
    const isLong = length >= Number(schema["minLength"] ?? 0);
    const matches = typeof pattern !== "string" || new RegExp(pattern, "u").test(value);
    return isLong && length <= Number(schema["maxLength"] ?? 1e9) && matches;
  }
  if (Array.isArray(value)) return fitsList(value, schema, root);
  return !isObject(value) || fitsObject(value, schema, root);
}

function fitsNumber(value: number, schema: JsonObject): boolean {
  const { minimum, maximum, exclusiveMinimum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) return false;
  if (typeof maximum === "number" && value > maximum) return false;
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return false;
  return typeof multipleOf !== "number" || Number.isInteger(value / multipleOf);
}

function fitsList(value: readonly unknown[], schema: JsonObject, root: JsonObject): boolean {
  const { items, prefixItems, additionalItems, contains } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? additionalItems : items;
  if (value.length < Number(schema["minItems"] ?? 0)) return false;
  if (value.length > Number(schema["maxItems"] ?? 1e9)) return false;
  if (schema["uniqueItems"] && new Set(value).size < value.length) return false;
  if (isObject(contains) && !value.some((entry) => fits(entry, contains, root))) return false;
  return value.every((entry, at) => fits(entry, at < tuple.length ? tuple[at] : rest, root));
}

function fitsObject(value: JsonObject, schema: JsonObject, root: JsonObject): boolean {
  const { properties, patternProperties, additionalProperties, required, propertyNames } = schema;
  const known = isObject(properties) ? properties : {};
  const patterns = Object.entries(isObject(patternProperties) ? patternProperties : {});
  const names = Object.keys(value);
  if (Array.isArray(required) && !required.every((name) => names.includes(String(name)))) {
    return false;
  }
  if (names.length < Number(schema["minProperties"] ?? 0)) return false;
  const { dependentRequired } = schema;
  for (const [name, others] of Object.entries(
    isObject(dependentRequired) ? dependentRequired : {},
  )) {
    const needs = Array.isArray(others) ? others : [];
    if (names.includes(name) && !needs.every((other) => names.includes(String(other))))
      return false;
  }
  return Object.entries(value).every(([name, entry]) => {
    if (isObject(propertyNames) && !fits(name, propertyNames, root)) return false;
    const matching = patterns.filter(([pattern]) => new RegExp(pattern, "u").test(name));
    if (!matching.every(([, inner]) => fits(entry, inner, root))) return false;
    if (Object.hasOwn(known, name)) return fits(entry, known[name], root);
    return matching.length > 0 || fits(entry, additionalProperties ?? true, root);
  });
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
