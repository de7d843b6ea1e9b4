import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { isObject, type JsonObject } from "../../../../core/process/json.ts";
import { OPENAI } from "../../../../plugins/translate/schema/dialect.ts";
import { schemasIn } from "../../../../plugins/translate/schema/positions.ts";
import { isPythonPattern } from "../../../../plugins/translate/schema/re2-pattern.ts";
import { rewriteParameters, rewriteSchema } from "../../../../plugins/translate/schema/rewrite.ts";

const BAD = "^\\p{L}$";
const text = { type: "string" };
const bad = { ...text, pattern: BAD };
const good = { ...text, description: `pattern: ${BAD}` };
const list = { type: "array" };
const anyList = { type: "array", items: {} };

/** Schemas, and what OpenAI gets: the schema, and the keywords that had to go. */
const ROWS: readonly (readonly [what: string, given: object, sent: object, ...lost: string[]])[] = [
  [
    "a pattern",
    { ...bad, description: "d" },
    { ...text, description: `d\npattern: ${BAD}` },
    "pattern",
  ],
  ["a pattern that compiles", { pattern: "^a$" }, { pattern: "^a$" }],
  ["a pattern that is no text", { pattern: 7 }, { description: "pattern: 7" }, "pattern"],
  [
    "a long pattern",
    { pattern: `\\p{L}${"a".repeat(2_000)}` },
    { description: `pattern: \\p{L}${"a".repeat(995)}…` },
    "pattern",
  ],
  ...["items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems"]
    .filter((keyword) => keyword !== "contains")
    .map(
      (keyword) => [`in ${keyword}`, { [keyword]: bad }, { [keyword]: good }, "pattern"] as const,
    ),
  ...["anyOf", "allOf", "prefixItems"].map(
    (keyword) =>
      [
        `in ${keyword}`,
        { [keyword]: [text, bad] },
        { [keyword]: [text, good] },
        "pattern",
      ] as const,
  ),
  ...[
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
  ].map(
    (keyword) =>
      [`in ${keyword}`, { [keyword]: { a: bad } }, { [keyword]: { a: good } }, "pattern"] as const,
  ),
  [
    "a property called pattern, and data that looks like one",
    {
      properties: { pattern: text, items: list, required: { const: { pattern: BAD } } },
      ...{ default: { pattern: BAD }, examples: [bad], enum: [list, { pattern: BAD }] },
    },
    {
      properties: { pattern: text, items: anyList, required: { const: { pattern: BAD } } },
      ...{ default: { pattern: BAD }, examples: [bad], enum: [list, { pattern: BAD }] },
    },
  ],
  [
    "one of two named patterns: what it allowed stays allowed",
    { patternProperties: { "^a": text, [BAD]: { type: "number" } }, additionalProperties: false },
    {
      patternProperties: { "^a": text },
      additionalProperties: { type: "number" },
      description: `patternProperties: {"^\\\\p{L}$":{"type":"number"}}`,
    },
    "patternProperties",
  ],
  [
    "all named patterns, beside a schema of the other properties",
    { patternProperties: { [BAD]: text, "[^]": true }, additionalProperties: text },
    {
      additionalProperties: true,
      description: `patternProperties: {"^\\\\p{L}$":{"type":"string"},"[^]":true}`,
    },
    "patternProperties",
  ],
  [
    "not: a looser schema inside would refuse more",
    { not: bad },
    { description: `not: ${JSON.stringify(bad)}` },
    ...["pattern", "not"],
  ],
  [
    "a condition",
    { if: { properties: { a: bad } }, else: { required: ["b"] } },
    {
      description: `if: ${JSON.stringify({ properties: { a: bad } })}\nelse: {"required":["b"]}`,
    },
    ...["pattern", "if", "else"],
  ],
  [
    "oneOf becomes anyOf: a value may now fit two branches",
    { oneOf: [bad, text] },
    { anyOf: [good, text] },
    "pattern",
  ],
  ["oneOf that loses nothing", { oneOf: [list, text] }, { oneOf: [anyList, text] }],
  [
    "oneOf beside anyOf",
    { oneOf: [bad], anyOf: [text] },
    { anyOf: [text], description: `oneOf: ${JSON.stringify([bad])}` },
    ...["pattern", "oneOf"],
  ],
  ["a list without items", { properties: { e: list } }, { properties: { e: anyList } }],
  ["a list inside a list", { type: "array", items: list }, { type: "array", items: anyList }],
  ["a list among types", { type: ["array", "null"] }, { type: ["array", "null"], items: {} }],
  ["any items", { type: "array", items: true }, anyList],
  [
    "a tuple",
    { type: "array", prefixItems: [text] },
    { type: "array", prefixItems: [text], items: {} },
  ],
  [
    "a tuple of an earlier draft",
    { type: "array", items: [bad], additionalItems: text },
    { type: "array", prefixItems: [good], items: text },
    "pattern",
  ],
  [
    "an empty tuple",
    { type: "array", items: [], additionalItems: false },
    { type: "array", items: false },
  ],
  [
    "null instead of a keyword",
    { required: null, properties: null, description: null, items: null, enum: null, type: "array" },
    { type: "array", items: {} },
  ],
  [
    "null as a value",
    { const: null, default: null, enum: [null] },
    { const: null, default: null, enum: [null] },
  ],
  [
    "required of draft 3",
    { properties: { a: { ...text, required: true }, b: { ...text, required: false } } },
    { properties: { a: { ...text, description: "required: true" }, b: text } },
    "required",
  ],
  [
    "exclusive bounds of draft 4",
    { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false },
    { exclusiveMinimum: 1, maximum: 3 },
  ],
  [
    "names that no address has",
    { $id: "Parameters Schema", $ref: "#/$defs/My Type", $defs: { "My Type": text } },
    { $id: "Parameters%20Schema", $ref: "#/$defs/My%20Type", $defs: { "My Type": text } },
  ],
  [
    "booleans",
    { properties: { a: true, b: false }, items: false },
    { properties: { a: true, b: false }, items: false },
  ],
];

t.test("OpenAI gets a schema that it compiles", async (t) => {
  for (const [what, given, sent, ...lost] of ROWS) {
    const before = JSON.stringify(given);
    const made = rewriteSchema({ ...given }, OPENAI);
    t.strictSame(made.schema, sent, what);
    t.strictSame(made.lost, lost, `${what}: what had to go`);
    t.equal(JSON.stringify(given), before, `${what}: the given schema is not changed`);
  }
});

t.test("a schema that fits is passed on as it is", async (t) => {
  const fits: JsonObject = {
    type: "object",
    properties: { a: { type: "array", items: { anyOf: [text, { $ref: "#/$defs/b" }] } } },
    $defs: { b: { ...text, pattern: "^b" } },
    required: ["a"],
  };
  t.equal(rewriteSchema(fits, OPENAI).schema, fits);
  t.equal(rewriteSchema(fits, {}).schema, fits);
});

t.test("the root of a tool's schema becomes one object", async (t) => {
  const rows: readonly (readonly [given: JsonObject, sent: JsonObject, ...lost: string[]])[] = [
    [
      { type: "object", properties: { a: text, b: text }, anyOf: [{ required: ["a"] }] },
      {
        ...{ type: "object", properties: { a: text, b: text }, required: ["a"] },
        description: 'anyOf: [{"required":["a"]}]',
      },
      "anyOf",
    ],
    [
      {
        oneOf: [
          { type: "object", properties: { k: { const: 1 }, n: text }, required: ["k", "n"] },
          { type: "object", properties: { k: { const: 2 } }, required: ["k"] },
        ],
      },
      {
        ...{ type: "object", required: ["k"] },
        properties: { k: { anyOf: [{ const: 1 }, { const: 2 }] }, n: text },
      },
      "oneOf",
    ],
    [
      { $ref: "#/$defs/A", $defs: { A: { type: "object", properties: { a: text } } } },
      {
        ...{ type: "object", properties: { a: text } },
        $defs: { A: { type: "object", properties: { a: text } } },
      },
    ],
    [
      { allOf: [{ properties: { a: text } }, { properties: { b: bad } }] },
      { type: "object", properties: { b: good, a: text } },
      ...["pattern", "allOf"],
    ],
  ];
  for (const [given, sent, ...lost] of rows) {
    const made = rewriteParameters(given, OPENAI);
    t.match(made.schema, sent);
    t.strictSame(made.lost, lost);
    t.equal(rewriteParameters(made.schema, OPENAI).schema, made.schema, "twice is once");
  }
});

const HOLDS_ONE = ["items", "not", "if", "else", "contains", "additionalProperties"];
const HOLDS_LIST = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
const HOLDS_NAMED = ["properties", "patternProperties", "$defs"];
const data = fc.oneof(
  fc.tuple(
    fc.constant("type"),
    fc.constantFrom("array", "object", "string", ["array", "null"], null),
  ),
  fc.tuple(fc.constant("pattern"), fc.constantFrom(BAD, "^a$", null, 1)),
  fc.tuple(fc.constant("required"), fc.constantFrom(null, true, ["a"])),
  fc.tuple(fc.constantFrom("enum", "default"), fc.constant([{ pattern: BAD, type: "array" }])),
  fc.tuple(fc.constant("description"), fc.string()),
);
const { schema: schemas } = fc.letrec<{ schema: unknown }>((tie) => {
  const inner = tie("schema");
  const several = fc.array(inner, { maxLength: 2 });
  const names = fc.constantFrom("a", "pattern", BAD, "^a", "__proto__");
  const keyword = fc.oneof(
    data,
    fc.tuple(fc.constantFrom(...HOLDS_ONE), inner),
    fc.tuple(fc.constantFrom(...HOLDS_LIST), several),
    fc.tuple(fc.constantFrom(...HOLDS_NAMED), fc.dictionary(names, inner, { maxKeys: 2 })),
  );
  const node = fc.array(keyword, { maxLength: 4 }).map((entries) => Object.fromEntries(entries));
  return { schema: fc.oneof({ maxDepth: 3 }, fc.constantFrom(true, {}), node) };
});

function faults(schema: unknown): string[] {
  if (!isObject(schema)) return [];
  const { type, items, pattern, required, patternProperties } = schema;
  const own = [
    (type === "array" || (Array.isArray(type) && type.includes("array"))) &&
      !isObject(items) &&
      items !== false &&
      "items",
    pattern !== undefined && !isPythonPattern(String(pattern)) && "pattern",
    required !== undefined && !Array.isArray(required) && "required",
    isObject(patternProperties) &&
      !Object.keys(patternProperties).every(isPythonPattern) &&
      "names",
  ].filter((fault) => fault !== false);
  return [...own, ...schemasIn(schema).flatMap(faults)];
}

t.test("any schema: it fits, the given one stays as it was, twice is once", async () => {
  fc.assert(
    fc.property(schemas, (given) => {
      if (!isObject(given)) return;
      const before = JSON.stringify(given);
      const { schema } = rewriteSchema(given, OPENAI);
      assert.deepEqual(faults(schema), []);
      assert.equal(JSON.stringify(given), before);
      const again = rewriteSchema(schema, OPENAI);
      assert.equal(again.schema, schema);
      assert.deepEqual(again.lost, []);
    }),
    { numRuns: 2_000 },
  );
});
