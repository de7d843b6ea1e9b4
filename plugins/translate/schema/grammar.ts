import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import type { Grammar } from "./dialect.ts";
import { SchemaDraft } from "./draft.ts";
import { SchemaReferences } from "./references.ts";
import { isObjectSchema } from "./strict.ts";
import { conjunction, resolved } from "./union.ts";

/** A schema in the words of a grammar. */
interface GrammarSchema {
  readonly schema: JsonObject;
  /** The keywords that had to go. Descriptions beside them have their values. */
  readonly lost: readonly string[];
  /** The place that the grammar cannot say, and why; undefined if it can say all. */
  readonly unsaid: string | undefined;
  readonly optionalProperties: number;
  readonly unions: number;
}

/** They say nothing about values. */
const NAMES = new Set(["$schema", "$id", "$comment"]);
const LITERALS = ["enum", "const"] as const;
const HOLDERS_BY_NAME = ["properties", "$defs", "definitions"] as const;
/** A schema is no larger than a request, but references multiply. */
const SCHEMAS_MAX = 20_000;

/**
 * Writes a schema in the words of a grammar: objects are closed, `oneOf` is `anyOf`, members of `allOf` are joined, and
 * other keywords go into the descriptions. The result takes at least the values that the given one takes, but for
 * properties that it does not name. `isTool`: an object without properties at the root takes nothing.
 */
export function inGrammar(given: JsonObject, grammar: Grammar, isTool: boolean): GrammarSchema {
  const writing = new Writing(given, grammar, isTool);
  const schema = writing.written(given, "");
  const { lost, unsaid, optionalProperties, unions } = writing;
  return { schema, lost: [...lost], unsaid, optionalProperties, unions };
}

class Writing {
  readonly lost = new Set<string>();
  unsaid: string | undefined = undefined;
  optionalProperties = 0;
  unions = 0;
  private readonly references: SchemaReferences;
  private schemas = 0;

  constructor(
    given: JsonObject,
    private readonly grammar: Grammar,
    private readonly isTool: boolean,
  ) {
    this.references = new SchemaReferences(given);
  }

  /** `path` of the schema, for people: `properties.a.items`. */
  written(given: JsonObject, path: string): JsonObject {
    if (++this.schemas > SCHEMAS_MAX) this.cannotSay(path, "is one schema too many");
    if (this.unsaid !== undefined) return given;
    const before = this.references.leftOut;
    const draft = new SchemaDraft(this.joined(given, path));
    if (this.references.leftOut > before) {
      const keyword = given["allOf"] === undefined ? "$ref" : "allOf";
      this.lost.add(keyword);
      draft.describe(keyword, given[keyword]);
    }
    this.addType(draft);
    if (draft.value("$ref") !== undefined) return this.referring(draft, path);
    this.writeChoices(draft, path);
    this.writeList(draft, path);
    if (isObjectSchema(draft.schema)) this.writeObject(draft, path);
    this.loseOthers(draft);
    for (const keyword of HOLDERS_BY_NAME) this.writeNamed(draft, keyword, path);
    const { schema } = draft;
    if (Array.isArray(schema["type"]) || schema["anyOf"] !== undefined) this.unions++;
    const isTyped = ["type", "anyOf", ...LITERALS].some((name) => schema[name] !== undefined);
    if (!isTyped) this.cannotSay(path, "takes any value: say its type");
    return draft.finished();
  }

  private cannotSay(path: string, why: string): void {
    this.unsaid ??= `${path === "" ? "its root" : path} ${why}`;
  }

  /** Returns the schema without `allOf`, and without a reference that has keywords beside it. */
  private joined(given: JsonObject, path: string): JsonObject {
    let schema = given;
    if (schema["allOf"] !== undefined) schema = conjunction(schema, this.references);
    const { $ref, $defs, definitions, ...beside } = schema;
    if (typeof $ref !== "string" || Object.keys(beside).length === 0) return schema;
    if (this.leadsBack($ref, path)) return { $ref };
    return resolved(schema, this.references);
  }

  private referring(draft: SchemaDraft, path: string): JsonObject {
    this.leadsBack(String(draft.value("$ref")), path);
    for (const keyword of HOLDERS_BY_NAME) this.writeNamed(draft, keyword, path);
    return draft.schema;
  }

  /** Returns true for a reference that leads to a schema around it, or to none of this document. */
  private leadsBack($ref: string, path: string): boolean {
    const fault = this.references.faultOf($ref);
    if (fault === "circle") this.cannotSay(path, "refers to itself: write its levels out");
    else if (fault === "nowhere") {
      this.cannotSay(path, `refers to ${$ref.slice(0, 64)}, which is not one of its $defs`);
    }
    return fault !== undefined;
  }

  private addType(draft: SchemaDraft): void {
    const says = ["type", "anyOf", "oneOf", "$ref", ...LITERALS];
    if (says.some((keyword) => draft.value(keyword) !== undefined)) return;
    if (isObject(draft.value("properties"))) draft.set("type", "object");
    else if (draft.value("items") !== undefined) draft.set("type", "array");
  }

  private writeChoices(draft: SchemaDraft, path: string): void {
    const oneOf = draft.value("oneOf");
    if (Array.isArray(oneOf) && draft.value("anyOf") === undefined) {
      draft.remove("oneOf");
      draft.set("anyOf", oneOf);
    }
    for (const keyword of LITERALS) {
      const values = keyword === "enum" ? arrayOf(draft.value(keyword)) : [draft.value(keyword)];
      if (values.some((value) => typeof value === "object" && value !== null)) {
        this.lose(draft, keyword);
      }
    }
    const branches = draft.value("anyOf");
    if (!Array.isArray(branches)) return;
    draft.set("anyOf", this.writeAll(branches, `${at(path)}anyOf`));
  }

  private writeAll(list: readonly unknown[], path: string): readonly unknown[] {
    const made = list.map((entry, index) => this.any(entry, `${path}[${index}]`));
    return made.some((entry, index) => entry !== list[index]) ? made : list;
  }

  /** A tuple becomes a list of any of its members. */
  private writeList(draft: SchemaDraft, path: string): void {
    const tuple = arrayOf(draft.value("prefixItems"));
    const rest = draft.value("items");
    if (tuple.length > 0) {
      this.lose(draft, "prefixItems");
      const anyOf = [...tuple, ...(isObject(rest) ? [rest] : [])].filter(isObject);
      draft.set("items", anyOf.length === 1 ? anyOf[0] : { anyOf });
    }
    const items = draft.value("items");
    if (items === true || (isObject(items) && Object.keys(items).length === 0)) {
      draft.remove("items");
    } else if (items !== undefined) draft.set("items", this.any(items, `${at(path)}items`));
    if (Number(draft.value("minItems") ?? 0) > 1) this.lose(draft, "minItems");
  }

  private writeObject(draft: SchemaDraft, path: string): void {
    const properties = objectOf(draft.value("properties")) ?? {};
    const names = Object.keys(properties);
    const others = draft.value("additionalProperties");
    const isMap = isObject(others) && Object.keys(others).length > 0;
    const isFree = others !== false && names.length === 0 && !(this.isTool && path === "");
    if (isMap || isFree || draft.value("patternProperties") !== undefined) {
      this.cannotSay(path, "takes properties of any name: list them, or take a list of pairs");
    }
    if (others !== undefined && others !== false) this.lost.add("additionalProperties");
    draft.set("additionalProperties", false);
    const required = arrayOf(draft.value("required"));
    const known = required.filter((name) => Object.hasOwn(properties, String(name)));
    if (known.length < required.length) {
      this.lose(draft, "required");
      draft.set("required", known);
    }
    this.optionalProperties += names.length - new Set(known).size;
    if (draft.value("properties") === undefined) draft.set("properties", {});
  }

  private loseOthers(draft: SchemaDraft): void {
    const { keywords, formats } = this.grammar;
    const format = draft.value("format");
    if (format !== undefined && !formats.has(String(format))) this.lose(draft, "format");
    for (const keyword of Object.keys(draft.schema)) {
      if (NAMES.has(keyword)) draft.remove(keyword);
      else if (!keywords.has(keyword)) this.lose(draft, keyword);
    }
  }

  private writeNamed(draft: SchemaDraft, keyword: string, path: string): void {
    const named = objectOf(draft.value(keyword));
    if (!named) return;
    const entries = Object.entries(named).map(
      ([name, value]) => [name, this.any(value, `${at(path)}${keyword}.${name}`)] as const,
    );
    // fromEntries defines keys, so a property called __proto__ stays an ordinary property.
    const isChanged = entries.some(([name, value]) => value !== named[name]);
    if (isChanged) draft.set(keyword, Object.fromEntries(entries));
  }

  private any(given: unknown, path: string): unknown {
    if (isObject(given)) return this.written(given, path);
    this.cannotSay(path, given === true ? "takes any value: say its type" : "is not a schema");
    return given;
  }

  private lose(draft: SchemaDraft, keyword: string): void {
    this.lost.add(keyword);
    draft.lose(keyword);
  }
}

function at(path: string): string {
  return path === "" ? "" : `${path}.`;
}
