import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { isObject, type JsonObject } from "../../../../core/process/json.ts";
import {
  CLAUDE,
  CLAUDE_GRAMMAR,
  OPENAI_GRAMMAR,
} from "../../../../plugins/translate/schema/dialect.ts";
import { inGrammar } from "../../../../plugins/translate/schema/grammar.ts";
import { rewriteSchema } from "../../../../plugins/translate/schema/rewrite.ts";
import { isStrictReady } from "../../../../plugins/translate/schema/strict.ts";
import { claudeSchemaRefusal } from "../../../support/strict/schema.ts";
import { SUITE } from "./suite.ts";

const text = { type: "string" };
const object = (properties: JsonObject, more: JsonObject = {}) => ({
  ...{ type: "object", properties },
  ...more,
});
const closed = (properties: JsonObject, more: JsonObject = {}) =>
  object(properties, { ...more, additionalProperties: false });

function written(given: JsonObject, isTool = false) {
  return inGrammar(rewriteSchema(given, CLAUDE).schema, CLAUDE_GRAMMAR, isTool);
}

/** Schemas, and what Claude gets: the schema, and the keywords that had to go. */
const ROWS: readonly (readonly [what: string, given: JsonObject, sent: JsonObject, ...string[]])[] =
  [
    [
      "bounds",
      object({ n: { type: "integer", minimum: 1, maximum: 9, description: "A number." } }),
      closed({ n: { type: "integer", description: "A number.\nminimum: 1\nmaximum: 9" } }),
      ...["minimum", "maximum"],
    ],
    ["an open object with properties", object({ a: text }), closed({ a: text })],
    [
      "an object that says that it is open",
      object({ a: text }, { additionalProperties: true }),
      closed({ a: text }),
      "additionalProperties",
    ],
    ["a closed object without properties", closed({}), closed({})],
    [
      "a choice of one",
      object({ a: { oneOf: [text, { type: "null" }] } }),
      closed({ a: { anyOf: [text, { type: "null" }] } }),
    ],
    [
      "members to join",
      object({ a: { allOf: [object({ b: text }), object({ c: text }, { required: ["c"] })] } }),
      closed({ a: closed({ b: text, c: text }, { required: ["c"] }) }),
    ],
    [
      "members that differ",
      object({ a: { ...text, allOf: [{ enum: ["a"] }, { enum: ["b"] }] } }),
      closed({
        a: { ...text, enum: ["a"], description: 'allOf: [{"enum":["a"]},{"enum":["b"]}]' },
      }),
      "allOf",
    ],
    [
      "a tuple",
      object({ a: { type: "array", prefixItems: [text, { type: "number" }], minItems: 2 } }),
      closed({
        a: {
          ...{ type: "array", items: { anyOf: [text, { type: "number" }] } },
          description: 'prefixItems: [{"type":"string"},{"type":"number"}]\nminItems: 2',
        },
      }),
      ...["prefixItems", "minItems"],
    ],
    [
      "formats",
      object({ a: { ...text, format: "uri" }, b: { ...text, format: "ulid" } }),
      closed({ a: { ...text, format: "uri" }, b: { ...text, description: "format: ulid" } }),
      "format",
    ],
    [
      "literals",
      object({ a: { enum: ["x", null] }, b: closed({}, { const: {} }) }),
      closed({ a: { enum: ["x", null] }, b: closed({}, { description: "const: {}" }) }),
      "const",
    ],
    [
      "a reference with a description",
      object({ a: { $ref: "#/$defs/A", description: "d" } }, { $defs: { A: text } }),
      closed({ a: { ...text, description: "d" } }, { $defs: { A: text } }),
    ],
    [
      "names of the dialect",
      object({ a: text }, { $schema: "http://json-schema.org/draft-07/schema#", $id: "a" }),
      closed({ a: text }),
    ],
  ];

t.test("a schema is written in the words of Claude's grammars", async (t) => {
  for (const [what, given, sent, ...lost] of ROWS) {
    const before = JSON.stringify(given);
    const made = written(given);
    t.equal(made.unsaid, undefined, what);
    t.strictSame(made.schema, sent, what);
    t.strictSame(made.lost, lost, `${what}: what had to go`);
    t.equal(JSON.stringify(given), before, `${what}: the given schema is not changed`);
    t.equal(claudeSchemaRefusal(asking(made.schema)), undefined, what);
    t.strictSame(written(made.schema).schema, made.schema, `${what}: twice is once`);
  }
});

t.test("what no grammar can say is named by its place", async (t) => {
  const rows: readonly (readonly [JsonObject, RegExp])[] = [
    [object({ m: { type: "object", additionalProperties: text } }), /^properties\.m takes prop/],
    [object({ m: { type: "object" } }), /^properties\.m takes properties of any name/],
    [object({ a: text }, { patternProperties: { "^x": text } }), /^its root takes properties/],
    [object({ l: { type: "array", items: object({ a: {} }) } }), /^properties\.l\.items\.prop/],
    [object({ a: true }), /^properties\.a takes any value/],
    [
      object({ a: { $ref: "#/$defs/N" } }, { $defs: { N: object({ n: { $ref: "#/$defs/N" } }) } }),
      /^properties\.a refers to itself/,
    ],
    [object({ a: { $ref: "#" } }), /refers to itself/],
    [object({ a: { $ref: "https://e.com/s" } }), /refers to https/],
  ];
  for (const [given, unsaid] of rows) t.match(written(given).unsaid, unsaid);
  t.equal(written({ type: "object", properties: {} }, true).unsaid, undefined, "no parameters");
});

t.test("OpenAI's strict mode takes only what it compiles", async (t) => {
  const ready = (property: JsonObject) =>
    isStrictReady(closed({ a: property }, { required: ["a"] }), OPENAI_GRAMMAR);
  t.ok(ready({ type: "integer", minimum: 1 }));
  t.ok(ready({ ...text, format: "email", pattern: "^a" }));
  for (const odd of [{ format: "uri" }, { allOf: [] }, { oneOf: [text] }, { not: text }]) {
    t.notOk(ready({ ...text, ...odd }), JSON.stringify(odd));
  }
  t.notOk(isStrictReady({ anyOf: [closed({})] }, OPENAI_GRAMMAR), "a choice at the root");
});

const leaf = fc.constantFrom<JsonObject>(
  text,
  { type: "integer", minimum: 1, maximum: 5 },
  { type: ["string", "null"], maxLength: 2 },
  { enum: ["a", 1, null] },
  { const: true },
  { $ref: "#/$defs/D" },
  { type: "boolean", description: "d" },
);
const { schema: schemas } = fc.letrec<{ schema: JsonObject }>((tie) => {
  const inner = tie("schema");
  const names = fc.constantFrom("a", "b", "type", "__proto__");
  return {
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaf,
      fc
        .tuple(
          fc.dictionary(names, inner, { minKeys: 1, maxKeys: 3 }),
          fc.subarray(["a", "b"]),
          fc.constantFrom({}, { additionalProperties: false }, { minProperties: 1 }),
        )
        .map(([properties, required, more]) => ({ type: "object", properties, required, ...more })),
      fc
        .tuple(inner, fc.constantFrom({}, { minItems: 2 }, { uniqueItems: true }, { maxItems: 1 }))
        .map(([items, more]) => ({ type: "array", items, ...more })),
      fc
        .tuple(fc.constantFrom("anyOf", "oneOf"), fc.array(inner, { minLength: 1, maxLength: 2 }))
        .map(([keyword, list]) => ({ [keyword]: list })),
    ),
  };
});
const roots = schemas.map((a) => object({ a }, { $defs: { D: text } }));

/** Returns true if a value fits a schema: the keywords of the generator, and those that the grammar adds. */
function fits(value: unknown, schema: JsonObject, root: JsonObject): boolean {
  if (typeof schema["$ref"] === "string") return typeof value === "string";
  const one = (inner: unknown) => isObject(inner) && fits(value, inner, root);
  const { anyOf, oneOf, enum: values } = schema;
  if (Array.isArray(anyOf) && !anyOf.some(one)) return false;
  if (Array.isArray(oneOf) && oneOf.filter(one).length !== 1) return false;
  if (Array.isArray(values) && !values.includes(value)) return false;
  if ("const" in schema && value !== schema["const"]) return false;
  const types = [schema["type"] ?? typeOf(value)].flat();
  if (!types.includes(typeOf(value))) return false;
  if (
    typeof value === "number" &&
    (value < Number(schema["minimum"] ?? value) || value > Number(schema["maximum"] ?? value))
  )
    return false;
  if (typeof value === "string" && value.length > Number(schema["maxLength"] ?? 1e9)) return false;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (value.length < Number(schema["minItems"] ?? 0)) return false;
    if (value.length > Number(schema["maxItems"] ?? 1e9)) return false;
    if (schema["uniqueItems"] && new Set(value.map((v) => JSON.stringify(v))).size < value.length)
      return false;
    return !isObject(items) || value.every((entry) => fits(entry, items, root));
  }
  if (!isObject(value)) return true;
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  if (required.some((name) => !Object.hasOwn(value, String(name)))) return false;
  if (Object.keys(value).length < Number(schema["minProperties"] ?? 0)) return false;
  return Object.entries(value).every(([name, entry]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (isObject(property)) return fits(entry, property, root);
    return schema["additionalProperties"] !== false;
  });
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" ? "integer" : typeof value;
}

/** Values of the names that a schema lists, so that many fit. */
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom("", "a", 1, 3, true, null),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "type"), tie("value"), { maxKeys: 2 }),
  ),
})).value;

t.test("any schema: Claude takes it, twice is once, and what fitted still fits", async () => {
  let fitted = 0;
  fc.assert(
    fc.property(roots, fc.array(values, { minLength: 5, maxLength: 5 }), (given, candidates) => {
      const before = JSON.stringify(given);
      const { schema, unsaid } = written(given);
      assert.equal(JSON.stringify(given), before);
      if (unsaid !== undefined) return;
      const refusal = claudeSchemaRefusal(asking(schema)) ?? "";
      assert.ok(refusal === "" || refusal.includes("too many"), refusal);
      assert.deepEqual(written(schema).schema, schema);
      for (const a of candidates) {
        // Closed objects take only the names that they list.
        if (!fits({ a }, closedIn(given), given)) continue;
        fitted += 1;
        assert.ok(fits({ a }, schema, schema), JSON.stringify({ a, schema }));
      }
    }),
    { numRuns: 2_000 },
  );
  assert.ok(fitted > 200, `${fitted} values fitted`);
});

t.test(
  "each schema of JSON Schema's tests: Claude takes it, unless its meaning would change",
  async () => {
    let taken = 0;
    for (const given of SUITE) {
      const { schema, unsaid } = written(given);
      if (unsaid !== undefined) continue;
      taken += 1;
      assert.equal(claudeSchemaRefusal(asking(schema)), undefined, JSON.stringify(given));
      assert.deepEqual(written(schema).schema, schema);
    }
    assert.ok(taken > 100, `${taken} are taken`);
  },
);

function closedIn(schema: JsonObject): JsonObject {
  const inner = JSON.parse(JSON.stringify(schema), (_, value: unknown) =>
    isObject(value) && value["type"] === "object" && isObject(value["properties"])
      ? { ...value, additionalProperties: false }
      : value,
  );
  return inner;
}

function asking(schema: JsonObject): Parameters<typeof claudeSchemaRefusal>[0] {
  const body = { output_config: { format: { type: "json_schema", schema } } };
  const plain = { turns: [], tools: [], headers: {}, onBedrock: false, inputTokens: 0 };
  const model = "claude-opus-5";
  return { family: "anthropic", protocol: "messages", model, body, ...plain };
}
