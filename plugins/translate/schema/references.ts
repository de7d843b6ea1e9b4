import { isObject, type JsonObject } from "../../../core/plugin/index.ts";
import { schemasIn } from "./positions.ts";

/** Maximum characters of all targets that replace a reference: hostile references multiply. */
const INLINED_MAX = 262_144;
/** References that lead through more schemas count as ones that lead back. */
const LEVELS_MAX = 256;

type ReferenceFault = "circle" | "nowhere";

/**
 * The references inside of one JSON schema. Tools have them in many forms: `#/definitions/A`,
 * `#/properties/a/items`, names with a slash. Each gets a plain name under `#/$defs`.
 */
export class SchemaReferences {
  /** Names by the pointer of the target. */
  private readonly names = new Map<string, string>();
  private readonly targets = new Map<string, JsonObject>();
  /** The faults of the schemas that were looked at. One that is still looked into is a circle. */
  private readonly faults = new Map<JsonObject, ReferenceFault | undefined>();

  /** Counts keywords and references that the joining of schemas has left out. Compare it before and after. */
  leftOut = 0;
  /** The joined schemas around: inside of one, no reference that leads back is replaced, as that would not end. */
  joinedAround = 0;
  private inlinedCharacters = 0;

  constructor(private readonly root: JsonObject) {}

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

  /** Returns the schema that replaces a reference; undefined above `INLINED_MAX`, and if that would not end. */
  inlined($ref: string): JsonObject | undefined {
    const target = this.target($ref);
    const isEndless = this.joinedAround > 0 && this.faultOf($ref) === "circle";
    if (target && !isEndless && this.inlinedCharacters <= INLINED_MAX) {
      this.inlinedCharacters += JSON.stringify(target).length;
      if (this.inlinedCharacters <= INLINED_MAX) return target;
    }
    this.leftOut++;
    return undefined;
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
  faultOf($ref: string): ReferenceFault | undefined {
    return $ref === "#" ? "circle" : this.faultBehind($ref, 0);
  }

  /** The targets that have a name, including those that get one during the iteration. */
  used(): Iterable<[name: string, target: JsonObject]> {
    return this.targets;
  }

  private faultBehind($ref: string, level: number): ReferenceFault | undefined {
    const target = this.target($ref);
    return target ? this.faultIn(target, level) : "nowhere";
  }

  /** Looks into each schema once, however many references lead to it. */
  private faultIn(schema: JsonObject, level: number): ReferenceFault | undefined {
    if (level > LEVELS_MAX) return "circle";
    if (this.faults.has(schema)) return this.faults.get(schema);
    this.faults.set(schema, "circle");
    const { $ref } = schema;
    let fault = typeof $ref === "string" ? this.faultBehind($ref, level + 1) : undefined;
    for (const inner of schemasIn(schema)) {
      if (fault === "circle") break;
      if (isObject(inner)) fault = this.faultIn(inner, level + 1) ?? fault;
    }
    this.faults.set(schema, fault);
    return fault;
  }

  private freeName(wanted: string): string {
    const plain = wanted.replace(/[^\w-]/g, "_");
    let name = plain;
    for (let count = 2; this.targets.has(name); count++) name = `${plain}_${count}`;
    return name;
  }
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
