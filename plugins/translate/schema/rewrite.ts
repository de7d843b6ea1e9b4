import { arrayOf, isObject, type JsonObject } from "../../../core/plugin/index.ts";
import type { SchemaDialect } from "./dialect.ts";
import { SchemaDraft } from "./draft.ts";
import { mapSchemasIn } from "./positions.ts";
import { SchemaReferences } from "./references.ts";
import { isObjectSchema } from "./strict.ts";
import { conjunction, oneObject } from "./union.ts";

/** A schema that its provider compiles. */
export interface RewrittenSchema {
  /** The given object itself if nothing had to change. */
  readonly schema: JsonObject;
  /** The keywords that had to go. Descriptions beside them have their values. */
  readonly lost: readonly string[];
}

/** Keywords for which null is a value. For all others, some clients write it instead of leaving them out. */
export const MAY_BE_NULL = new Set(["const", "default", "example"]);

/**
 * Keywords whose schema must stay exact, with those that depend on it. All others may take more values than before, so
 * that no valid value becomes invalid.
 */
const EXACT: ReadonlyMap<string, readonly string[]> = new Map([
  ["not", ["not"]],
  ["if", ["if", "then", "else", "unevaluatedProperties", "unevaluatedItems"]],
  ["contains", ["contains", "minContains", "maxContains", "unevaluatedItems"]],
]);

const BOUNDS = [
  ["exclusiveMinimum", "minimum"],
  ["exclusiveMaximum", "maximum"],
] as const;

/** Keywords whose value is a URI reference, and the characters that none has. */
const REFERENCES = ["$id", "$ref"] as const;
const NO_URI_CHARACTER = /[^\x21-\x7e]|["<>\\^`{|}]/gu;

const DEFINITIONS = new Set(["$defs", "definitions"]);

/** Keywords that no provider takes at the root of a tool's schema. */
const CHOICES = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const"];

/**
 * Rewrites a schema to one that a provider compiles. It takes at least the values that the given one takes. Follows no
 * references but one at the root, so that the result is not much larger; the nesting of a request is bounded, so that
 * recursion has an end. A rewritten schema stays as it is if it is rewritten again.
 */
export function rewriteSchema(given: JsonObject, dialect: SchemaDialect): RewrittenSchema {
  const rewriting = new Rewriting(dialect, given);
  const schema = rewriting.rewritten(given);
  return { schema, lost: [...rewriting.lost] };
}

/** Does the same for the schema of a tool, whose root must be one object. Unions there are joined, and described. */
export function rewriteParameters(given: JsonObject, dialect: SchemaDialect): RewrittenSchema {
  const { schema, lost } = rewriteSchema(given, dialect);
  const choices = CHOICES.filter((keyword) => schema[keyword] !== undefined);
  if (choices.length === 0 && schema["$ref"] === undefined) return { schema, lost };
  const { object, lost: unsaid } = oneObject(schema, new SchemaReferences(schema));
  const draft = new SchemaDraft(object);
  const described = new Map([...unsaid, ...choices.map((name) => [name, schema[name]] as const)]);
  for (const [keyword, value] of described) {
    draft.remove(keyword);
    draft.describe(keyword, value);
  }
  if (dialect.closesObjects) openObject(draft);
  return { schema: draft.finished(), lost: [...new Set([...lost, ...described.keys()])] };
}

class Rewriting {
  readonly lost = new Set<string>();
  private readonly references: SchemaReferences;
  private losses = 0;
  private isDefinition = false;

  constructor(
    private readonly dialect: SchemaDialect,
    root: JsonObject,
  ) {
    this.references = new SchemaReferences(root);
  }

  /** A property, as a closure for each schema inside of another would cost more than the rest. */
  readonly rewritten = (given: JsonObject): JsonObject => {
    const { compiles, checksKeywords, needsItems, keywords } = this.dialect;
    const isJoined = keywords?.has("allOf") === false && given["allOf"] !== undefined;
    const draft = isJoined ? this.joined(given) : new SchemaDraft(given);
    if (checksKeywords) this.correctKeywords(draft);
    if (isJoined) this.references.joinedAround++;
    this.rewriteInside(draft);
    if (isJoined) this.references.joinedAround--;
    if (compiles) {
      this.checkPattern(draft, compiles);
      const isKnown = keywords?.has("patternProperties") !== false;
      this.checkPatternProperties(draft, isKnown ? compiles : () => false);
    }
    if (needsItems) addItems(draft);
    this.fitWords(draft);
    return draft.finished();
  };

  /** A joined schema may take more values: inside of a schema that must stay exact, that is a loss. */
  private joined(given: JsonObject): SchemaDraft {
    const { references } = this;
    const before = references.leftOut;
    const draft = new SchemaDraft(conjunction(given, references));
    if (references.leftOut > before) this.describe(draft, "allOf", given["allOf"]);
    this.losses++;
    return draft;
  }

  private rewriteInside(draft: SchemaDraft): void {
    const { schema } = draft;
    for (const keyword in schema) {
      const before = this.losses;
      const value = schema[keyword];
      const isOuter = !this.isDefinition && DEFINITIONS.has(keyword);
      if (isOuter) this.isDefinition = true;
      const made = mapSchemasIn(keyword, value, this.rewritten);
      if (isOuter) this.isDefinition = false;
      if (made === value) continue;
      const tied = EXACT.get(keyword);
      if (this.losses === before) draft.set(keyword, made);
      else if (tied) this.lose(draft, tied);
      else if (keyword !== "oneOf") draft.set(keyword, made);
      else this.loosenOneOf(draft, made);
    }
  }

  private fitWords(draft: SchemaDraft): void {
    const { keywords, formats, refusedNames, closesObjects, refusesCircles } = this.dialect;
    const { namesEnums } = this.dialect;
    if (refusesCircles && this.leadsBack(draft.value("$ref"))) this.lose(draft, ["$ref"]);
    if (closesObjects) openObject(draft);
    for (const name of refusedNames ?? []) draft.remove(name);
    const format = draft.value("format");
    if (formats && format !== undefined && !formats.has(String(format))) {
      this.lose(draft, ["format"]);
    }
    if (!keywords) return;
    const only = draft.value("const");
    if (only !== undefined && draft.value("enum") === undefined) {
      draft.remove("const");
      draft.set("enum", [only]);
    }
    if (namesEnums && !hasNamesAlone(draft)) this.lose(draft, ["enum"]);
    const unknown = Object.keys(draft.schema).filter((name) => !keywords.has(name));
    this.lose(draft, unknown);
  }

  /** A reference from outside to a definition that leads back may stay, as the one inside of it goes. */
  private leadsBack($ref: unknown): boolean {
    if (typeof $ref !== "string" || this.references.faultOf($ref) !== "circle") return false;
    return this.isDefinition || !/^#\/(?:\$defs|definitions)\//.test($ref);
  }

  /** With looser branches, a value may fit several. */
  private loosenOneOf(draft: SchemaDraft, branches: unknown): void {
    if (draft.value("anyOf") !== undefined) return this.lose(draft, ["oneOf"]);
    draft.remove("oneOf");
    draft.set("anyOf", branches);
  }

  private lose(draft: SchemaDraft, keywords: readonly string[]): void {
    for (const keyword of keywords) {
      const value = draft.value(keyword);
      if (value === undefined) continue;
      draft.remove(keyword);
      this.describe(draft, keyword, value);
    }
  }

  private describe(draft: SchemaDraft, keyword: string, value: unknown): void {
    this.losses++;
    this.lost.add(keyword);
    draft.describe(keyword, value);
  }

  /** Corrects values that no keyword has, and forms of earlier drafts. */
  private correctKeywords(draft: SchemaDraft): void {
    const { schema } = draft;
    for (const keyword in schema) {
      if (schema[keyword] === null && !MAY_BE_NULL.has(keyword)) draft.remove(keyword);
    }
    const required = draft.value("required");
    if (required !== undefined && !Array.isArray(required)) {
      // A property of draft 3 says `required: true` itself.
      if (required === false) draft.remove("required");
      else this.lose(draft, ["required"]);
    }
    for (const [exclusive, inclusive] of BOUNDS) {
      const value = draft.value(exclusive);
      if (typeof value !== "boolean") continue;
      const bound = draft.value(inclusive);
      draft.remove(exclusive);
      if (!value || bound === undefined) continue;
      draft.remove(inclusive);
      draft.set(exclusive, bound);
    }
    for (const keyword of REFERENCES) {
      const value = draft.value(keyword);
      if (typeof value !== "string") continue;
      const encoded = value.replace(NO_URI_CHARACTER, percentEncoded);
      if (encoded !== value) draft.set(keyword, encoded);
    }
    correctTuple(draft);
  }

  private checkPattern(draft: SchemaDraft, compiles: (pattern: string) => boolean): void {
    const pattern = draft.value("pattern");
    if (pattern === undefined || (typeof pattern === "string" && compiles(pattern))) return;
    this.lose(draft, ["pattern"]);
  }

  /** Properties that a lost name allowed stay allowed. */
  private checkPatternProperties(draft: SchemaDraft, compiles: (pattern: string) => boolean): void {
    const named = draft.value("patternProperties");
    if (!isObject(named)) return;
    const all = Object.entries(named);
    const kept = all.filter(([pattern]) => compiles(pattern));
    if (kept.length === all.length) return;
    const lost = all.filter(([pattern]) => !compiles(pattern));
    if (kept.length === 0) draft.remove("patternProperties");
    else draft.set("patternProperties", Object.fromEntries(kept));
    for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
      const others = draft.value(keyword);
      if (others === undefined || others === true) continue;
      const schemas = [...lost.map(([, schema]) => schema), ...(others === false ? [] : [others])];
      const isAny = schemas.some((schema) => !isObject(schema));
      draft.set(keyword, isAny || (schemas.length === 1 ? schemas[0] : { anyOf: schemas }));
    }
    this.describe(draft, "patternProperties", Object.fromEntries(lost));
  }
}

/** Says that an object takes other properties, if it says nothing about them. */
function openObject(draft: SchemaDraft): void {
  const isOpen = draft.value("additionalProperties") === undefined;
  if (isOpen && isObjectSchema(draft.schema)) draft.set("additionalProperties", true);
}

/** Drafts before 2020 write the schemas of a tuple as a list of items. */
function correctTuple(draft: SchemaDraft): void {
  const items = draft.value("items");
  if (!Array.isArray(items)) return;
  const rest = draft.value("additionalItems");
  draft.remove("additionalItems");
  draft.set("items", rest ?? {});
  if (items.length > 0 && draft.value("prefixItems") === undefined) draft.set("prefixItems", items);
}

/** Written as texts, numbers would make the model write texts, which the tool of the client refuses. */
function hasNamesAlone(draft: SchemaDraft): boolean {
  const type = draft.value("type");
  const isText = type === undefined || type === "string" || arrayOf(type).includes("string");
  return (
    isText && arrayOf(draft.value("enum")).every((one) => typeof one === "string" && one !== "")
  );
}

function addItems(draft: SchemaDraft): void {
  const type = draft.value("type");
  const items = draft.value("items");
  const isArray = type === "array" || arrayOf(type).includes("array");
  if (isArray && (items === undefined || items === true)) draft.set("items", {});
}

function percentEncoded(character: string): string {
  const bytes = [...Buffer.from(character)];
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
