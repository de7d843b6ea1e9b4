import { isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { schemasIn } from "./positions.ts";

/** Maximum properties of all targets that replace a reference: hostile references multiply. */
const INLINED_MAX = 5_000;
/** A chain of more references counts as one that leads back. */
const CHAIN_MAX = 64;

/**
 * The references inside of one JSON schema. Tools have them in many forms: `#/definitions/A`,
 * `#/properties/a/items`, names with a slash. Each gets a plain name under `#/$defs`.
 */
export class SchemaReferences {
  private readonly root: JsonObject;
  /** Names by the pointer of the target. */
  private readonly names = new Map<string, string>();
  private readonly targets = new Map<string, JsonObject>();
  /** References without a fault. */
  private readonly plain = new Set<string>();

  private inlinedCount = 0;

  constructor(root: JsonObject) {
    this.root = root;
  }

  /** Returns the new form of a reference; undefined for one that leads nowhere in the schema. */
  nameOf($ref: string): string | undefined {
    if ($ref === "#") return $ref;
    const known = this.names.get($ref);
    if (known !== undefined) return `#/$defs/${known}`;
    const target = this.target($ref);
    if (target === undefined) return undefined;
    const name = this.freeName(stepsOf($ref)?.slice(1).join("_") || "root");
    this.names.set($ref, name);
    this.targets.set(name, target);
    return `#/$defs/${name}`;
  }

  /** Returns the schema that replaces a reference; undefined above `INLINED_MAX`. */
  inlined($ref: string): JsonObject | undefined {
    const target = this.target($ref);
    this.inlinedCount += 1 + Object.keys(objectOf(target?.["properties"]) ?? {}).length;
    return this.inlinedCount > INLINED_MAX ? undefined : target;
  }

  /** Returns the schema that a reference points to. */
  target($ref: string): JsonObject | undefined {
    let found: unknown = this.root;
    const steps = stepsOf($ref);
    if (steps === undefined) return undefined;
    for (const step of steps) {
      if (Array.isArray(found)) found = found[Number(step)];
      else if (isObject(found) && Object.hasOwn(found, step)) found = found[step];
      else return undefined;
    }
    return isObject(found) ? found : undefined;
  }

  /** Returns `circle` for a reference that leads to a schema around its target, `nowhere` for one that leaves the document. */
  faultOf($ref: string, around: readonly string[] = []): "circle" | "nowhere" | undefined {
    if (this.plain.has($ref)) return undefined;
    if ($ref === "#" || around.includes($ref) || around.length > CHAIN_MAX) return "circle";
    const target = this.target($ref);
    if (!target) return "nowhere";
    for (const inner of referencesIn(target)) {
      const fault = this.faultOf(inner, [...around, $ref]);
      if (fault !== undefined) return fault;
    }
    this.plain.add($ref);
    return undefined;
  }

  /** The targets that have a name, including those that get one during the iteration. */
  used(): Iterable<[name: string, target: JsonObject]> {
    return this.targets;
  }

  private freeName(wanted: string): string {
    const plain = wanted.replace(/[^\w-]/g, "_");
    let name = plain;
    for (let count = 2; this.targets.has(name); count++) name = `${plain}_${count}`;
    return name;
  }
}

function referencesIn(schema: JsonObject): string[] {
  const { $ref } = schema;
  const own = typeof $ref === "string" ? [$ref] : [];
  return [...own, ...schemasIn(schema).filter(isObject).flatMap(referencesIn)];
}

/** Returns the steps of a reference to a place in its own document. */
function stepsOf($ref: string): string[] | undefined {
  if ($ref === "#") return [];
  if (!$ref.startsWith("#/")) return undefined;
  return $ref
    .slice(2)
    .split("/")
    .map((step) => decoded(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
