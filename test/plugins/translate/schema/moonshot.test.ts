import t from "tap";
import { asMoonshotSchema } from "../../../../plugins/translate/schema/moonshot.ts";
import { schemaFault } from "../../../support/strict/moonshot-schema.ts";

const text = { type: "string" };
const ANY = {
  anyOf: [
    ...[text, { type: "number" }, { type: "boolean" }, { type: "object" }],
    ...[{ type: "array" }, { type: "null" }],
  ],
};

const ATTACHMENTS = [
  { type: "object", properties: { name: text, content: text }, required: ["name", "content"] },
  { type: "object", properties: { name: text, url: text }, required: ["name", "url"] },
];

/** Schemas as tools of MCP servers and of agents have them, shortened, what Kimi gets, and the keywords that had to go. */
const SCHEMAS: readonly (readonly [
  what: string,
  given: object,
  expected: object,
  ...lost: string[],
])[] = [
  [
    "a whole one that Kimi takes",
    {
      type: "object",
      properties: { query: { ...text, description: "d" }, limit: { type: "integer", default: 10 } },
      required: ["query"],
      additionalProperties: false,
    },
    {
      type: "object",
      properties: { query: { ...text, description: "d" }, limit: { type: "integer", default: 10 } },
      required: ["query"],
      additionalProperties: false,
    },
  ],
  ["no arguments", {}, { type: "object" }],
  [
    "a reference to a definition, with fields beside it, as Codex has it",
    {
      type: "object",
      properties: { id: { ...text, minLength: 1, description: "d", $ref: "#/definitions/id" } },
      definitions: { id: { ...text, format: "uuid" }, unused: {} },
    },
    {
      type: "object",
      properties: { id: { $ref: "#/$defs/id", description: "d\nminLength: 1" } },
      $defs: { id: { ...text, format: "uuid" } },
    },
    "minLength",
  ],
  [
    "a reference to another property, as zod-to-json-schema writes it",
    {
      type: "object",
      properties: {
        from: { type: "object", properties: { at: text }, required: ["at"] },
        to: { $ref: "#/properties/from" },
        "a/b": { type: "array", items: { $ref: "#/properties/a~1b" } },
      },
    },
    {
      type: "object",
      properties: {
        from: { type: "object", properties: { at: text }, required: ["at"] },
        to: { $ref: "#/$defs/from" },
        "a/b": { type: "array", items: { $ref: "#/$defs/a_b" } },
      },
      $defs: {
        from: { type: "object", properties: { at: text }, required: ["at"] },
        a_b: { type: "array", items: { $ref: "#/$defs/a_b" } },
      },
    },
  ],
  [
    "a root that is a reference to a recursive definition",
    {
      $ref: "#/definitions/Node",
      definitions: {
        Node: { type: "object", properties: { next: { $ref: "#/definitions/Node" } } },
      },
    },
    {
      type: "object",
      properties: { next: { $ref: "#/$defs/Node" } },
      $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
    },
  ],
  [
    "references that lead nowhere",
    {
      type: "object",
      properties: { a: { $ref: "https://x.example/a" }, b: { $ref: "#/$defs/b" } },
    },
    {
      type: "object",
      properties: {
        a: { ...ANY, description: "$ref: https://x.example/a" },
        b: { ...ANY, description: "$ref: #/$defs/b" },
      },
    },
    "$ref",
  ],
  [
    "a described reference in allOf, as Pydantic writes it",
    {
      type: "object",
      properties: {
        priority: { title: "P", default: 1, allOf: [{ $ref: "#/definitions/Priority" }] },
      },
      definitions: { Priority: { title: "Priority", enum: [0, 1, 2], type: "integer" } },
    },
    {
      type: "object",
      properties: {
        priority: { $ref: "#/$defs/Priority", title: "P", description: "default: 1" },
      },
      $defs: { Priority: { title: "Priority", type: "integer", enum: [0, 1, 2] } },
    },
    "default",
  ],
  [
    "allOf that extends a base",
    {
      type: "object",
      properties: {
        user: {
          allOf: [
            { $ref: "#/$defs/Base" },
            { type: "object", properties: { name: text }, required: ["name"] },
          ],
        },
      },
      $defs: { Base: { type: "object", properties: { id: text }, required: ["id"] } },
    },
    {
      type: "object",
      properties: {
        user: { type: "object", properties: { id: text, name: text }, required: ["id", "name"] },
      },
    },
  ],
  [
    "a union at the root, as Notion's create-attachment has it",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      anyOf: ATTACHMENTS,
    },
    {
      type: "object",
      properties: { name: text, content: text, url: text },
      required: ["name"],
      description: `anyOf: ${JSON.stringify(ATTACHMENTS)}`,
    },
    "anyOf",
  ],
  [
    "a union of requirements only, as Apollo's tools have it",
    {
      type: "object",
      properties: {
        tasks: {
          type: "array",
          items: {
            type: "object",
            properties: { contact: text, account: text, note: text },
            required: ["note"],
            anyOf: [{ required: ["contact"] }, { required: ["account"] }],
          },
        },
      },
    },
    {
      type: "object",
      properties: {
        tasks: {
          type: "array",
          items: {
            type: "object",
            properties: { contact: text, account: text, note: text },
            required: ["note"],
            description: 'anyOf: [{"required":["contact"]},{"required":["account"]}]',
          },
        },
      },
    },
    "anyOf",
  ],
  [
    "a type beside a union, as lean-lsp-mcp has it",
    {
      type: "object",
      properties: {
        severity: { ...text, default: null, anyOf: [{ enum: ["error"] }, { minLength: 1 }] },
        either: { oneOf: [text, { type: "array", items: text }] },
      },
    },
    {
      type: "object",
      properties: {
        severity: {
          default: null,
          anyOf: [
            { ...text, enum: ["error"] },
            { minLength: 1, ...text },
          ],
        },
        either: { anyOf: [text, { type: "array", items: text }] },
      },
    },
  ],
  [
    "enums with and without their types",
    {
      type: "object",
      properties: {
        priority: { enum: [0, 1, 2] },
        scale: { enum: [1, 2.5] },
        word: { enum: ["a", "b"], description: "d" },
        flag: { const: true },
        nullable: { ...text, nullable: true, enum: ["a", null] },
        mixed: { enum: ["auto", 1, null] },
        wrong: { ...text, enum: [1, 2] },
        nothing: { const: null },
        objects: { enum: [{ a: 1 }] },
      },
    },
    {
      type: "object",
      properties: {
        priority: { type: "integer", enum: [0, 1, 2] },
        scale: { type: "number", enum: [1, 2.5] },
        word: { ...text, enum: ["a", "b"], description: "d" },
        flag: { type: "boolean", enum: [true] },
        nullable: { nullable: true, type: ["string", "null"], enum: ["a", null] },
        mixed: {
          anyOf: [{ ...text, enum: ["auto"] }, { type: "integer", enum: [1] }, { type: "null" }],
        },
        wrong: { type: "integer", enum: [1, 2], description: "type: string" },
        nothing: { type: "null" },
        objects: { ...ANY, description: 'enum: [{"a":1}]' },
      },
    },
    ...["type", "enum"],
  ],
  [
    "schemas without a type, boolean ones, tuples, and properties with names of methods",
    {
      type: "object",
      properties: {
        args: {},
        outputSchema: true,
        range: { type: "array", items: [{ type: "number" }, { type: "number" }] },
        open: { type: "object", additionalProperties: {} },
        toLocaleString: { minimum: 1 },
        implied: { properties: { a: text } },
      },
      required: ["args", "toString", "gone"],
    },
    {
      type: "object",
      properties: {
        args: ANY,
        outputSchema: ANY,
        range: {
          type: "array",
          items: { anyOf: [{ type: "number" }, { type: "number" }] },
          description: 'items: [{"type":"number"},{"type":"number"}]',
        },
        open: { type: "object", additionalProperties: true },
        toLocaleString: { type: "number", minimum: 1 },
        implied: { type: "object", properties: { a: text } },
      },
      required: ["args"],
      description: 'required: ["args","toString","gone"]',
    },
    ...["items", "required"],
  ],
  [
    "joined schemas that differ",
    {
      type: "object",
      properties: { a: { allOf: [{ ...text, pattern: "^a" }, { pattern: "z$" }] } },
    },
    {
      type: "object",
      properties: {
        a: {
          ...{ ...text, pattern: "^a" },
          description: 'allOf: [{"type":"string","pattern":"^a"},{"pattern":"z$"}]',
        },
      },
    },
    "allOf",
  ],
  [
    "a joined reference that differs: its definition stays",
    {
      type: "object",
      properties: { a: { minLength: 1, allOf: [{ $ref: "#/definitions/A" }, { title: "t" }] } },
      definitions: { A: { ...text, minLength: 5 } },
    },
    {
      type: "object",
      properties: {
        a: {
          ...{ ...text, minLength: 1, title: "t" },
          description: 'allOf: [{"$ref":"#/$defs/A"},{"title":"t"}]',
        },
      },
      $defs: { A: { ...text, minLength: 5 } },
    },
    "allOf",
  ],
  [
    "a keyword beside a reference at the root",
    {
      $ref: "#/$defs/A",
      properties: { a: { ...text, minLength: 1 } },
      $defs: { A: { type: "object", properties: { a: { ...text, maxLength: 5 } } } },
    },
    {
      type: "object",
      properties: { a: { ...text, minLength: 1 } },
      description: "$ref: #/$defs/A",
      $defs: { A: { type: "object", properties: { a: { ...text, maxLength: 5 } } } },
    },
    "$ref",
  ],
  [
    "keywords beside a union, a second union, and a branch that takes all",
    {
      type: "object",
      properties: {
        a: { minLength: 2, anyOf: [text, { type: "null" }], oneOf: [text] },
        b: { anyOf: [true, text, false] },
        c: { ...text, anyOf: [{ type: "integer" }, text] },
      },
    },
    {
      type: "object",
      properties: {
        a: {
          anyOf: [text, { type: "null" }],
          description: 'oneOf: [{"type":"string"}]\nminLength: 2',
        },
        b: { anyOf: [ANY, text] },
        c: { anyOf: [{ type: "integer" }, text], description: "type: string" },
      },
    },
    ...["oneOf", "minLength", "type"],
  ],
  [
    "schemas in keywords that Kimi does not know, and values that no keyword has",
    {
      type: "object",
      properties: { a: { ...text, minLength: null, not: { $ref: "#/definitions/A" } } },
      patternProperties: { "^x": { $ref: "#/definitions/A" } },
      definitions: { A: { enum: ["x"] } },
    },
    {
      type: "object",
      properties: { a: { ...text, description: 'not: {"$ref":"#/$defs/A"}' } },
      description: 'patternProperties: {"^x":{"$ref":"#/$defs/A"}}',
      $defs: { A: { ...text, enum: ["x"] } },
    },
    ...["not", "patternProperties"],
  ],
  [
    "a tuple with further items, and one without",
    {
      type: "object",
      properties: {
        a: { type: "array", prefixItems: [text], items: { type: "integer" } },
        b: { type: "array", prefixItems: [text], items: false },
      },
    },
    {
      type: "object",
      properties: {
        a: {
          ...{ type: "array", items: { anyOf: [text, { type: "integer" }] } },
          description: 'prefixItems: [{"type":"string"}]',
        },
        b: {
          ...{ type: "array", items: text },
          description: 'items: false\nprefixItems: [{"type":"string"}]',
        },
      },
    },
    ...["prefixItems", "items"],
  ],
  [
    "schemas in more levels than Kimi takes",
    { type: "object", properties: { a: levels(31) } },
    {
      type: "object",
      properties: {
        a: levels(30, { ...ANY, description: `schema: ${JSON.stringify(levels(1))}` }),
      },
    },
    "schema",
  ],
];

/** Lists in lists. */
function levels(count: number, inner: object = text): object {
  return count === 0 ? inner : { type: "array", items: levels(count - 1, inner) };
}

t.test("Kimi takes the schema of a tool, and it says what it said", async (t) => {
  for (const [what, given, expected, ...lost] of SCHEMAS) {
    const made = asMoonshotSchema({ ...given }, "parameters");
    t.strictSame(made.schema, expected, what);
    t.strictSame(made.lost, lost, `${what}: what had to go`);
    t.equal(schemaFault(made.schema), undefined, what);
  }
});

t.test("a schema of a reply keeps a union at its root", async (t) => {
  const member = { type: "object", properties: { a: text } };
  const union = { anyOf: [member, { $ref: "#/$defs/b" }], $defs: { b: member } };
  t.strictSame(asMoonshotSchema(union, "format"), { schema: union, lost: [] });
});

t.test("references that multiply end", async (t) => {
  const definitions: Record<string, object> = {};
  for (let n = 0; n < 40; n++) {
    const next = { $ref: `#/$defs/d${n + 1}` };
    definitions[`d${n}`] = {
      allOf: [next, next],
      properties: { [`p${n}`]: { allOf: [next, next] } },
    };
  }
  const schema = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs: definitions };
  const { schema: made } = asMoonshotSchema(schema, "parameters");
  t.ok(JSON.stringify(made).length < 2_000_000);
  t.equal(schemaFault(made), undefined);
  const own = { allOf: [{ $ref: "#/$defs/a" }, { properties: { b: { $ref: "#/$defs/a" } } }] };
  const loop = { type: "object", properties: { a: own }, $defs: { a: own } };
  t.equal(schemaFault(asMoonshotSchema(loop, "parameters").schema), undefined);
});
