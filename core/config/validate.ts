import * as v from "valibot";
import { isObject } from "../process/json.ts";
import type { Path } from "./problem.ts";
import type { Source } from "./source.ts";

type Issue = v.BaseIssue<unknown>;

/**
 * Checks the part of a file at `path`. Returns the schema's output, or undefined, with the problems in `source`. A
 * message names what is expected and the type of what was found, never its value.
 */
export function validate<const T extends v.GenericSchema>(
  schema: T,
  value: unknown,
  source: Source,
  path: Path,
): v.InferOutput<T> | undefined {
  let rest = value;
  for (;;) {
    const result = v.safeParse(schema, rest, { message: expectation });
    if (result.success) return rest === value ? result.output : undefined;
    for (const issue of result.issues) report(issue, value, source, path);
    // Valibot reports only the first unknown key of a mapping. Remove it and check again to find the next.
    const unknown = result.issues.filter(isUnknownKey);
    if (unknown.length === 0) return undefined;
    rest = structuredClone(rest);
    for (const issue of unknown) remove(rest, pathOf(issue));
  }
}

/** Checks a value without reporting: returns undefined if it is invalid. For checks across parts of a file. */
export function attempt<const T extends v.GenericSchema>(
  schema: T,
  value: unknown,
): v.InferOutput<T> | undefined {
  const result = v.safeParse(schema, value);
  return result.success ? result.output : undefined;
}

/** Returns true for a schema of any copy of the library. Async ones cannot check a config. */
export function isSchema(value: unknown): value is v.GenericSchema {
  return isObject(value) && value["kind"] === "schema" && value["async"] === false;
}

function report(issue: Issue, value: unknown, source: Source, path: Path) {
  const at = pathOf(issue);
  // A list is an object too in JavaScript, so Valibot looks for the keys of a mapping in it.
  const list = issue.path?.findIndex(
    ({ type, input }) => type === "object" && Array.isArray(input),
  );
  if (list !== undefined && list >= 0) {
    source.report([...path, ...at.slice(0, list)], "expected a mapping, got a list");
  } else {
    source.report([...path, ...at], sentence(issue, faultOf(issue, value)));
  }
}

function sentence(issue: Issue, value: unknown): string {
  if (isUnknownKey(issue)) {
    return issue.message === "" ? "unknown key" : `unknown key; expected ${issue.message}`;
  }
  const kind = kindOf(value, issue);
  return `expected ${issue.message}${kind && `, got ${kind}`}`;
}

/** Describes a value without revealing it; empty if what is expected says enough. */
function kindOf(value: unknown, issue: Issue): string {
  if (value === undefined || value === null) return "nothing";
  if (value === "") return "empty text";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (isObject(value)) return Object.keys(value).length === 0 ? "an empty mapping" : "a mapping";
  switch (typeof value) {
    case "string":
      return NOT_OF_TEXT.has(issue.type) ? "text" : "";
    case "number":
      if (Number.isNaN(value)) return "NaN";
      if (!Number.isFinite(value)) return "infinity";
      if (issue.type === "min_value") return "a smaller number";
      if (issue.type === "max_value") return "a larger number";
      return issue.type === "integer" ? "a fraction" : "a number";
    default:
      return "true or false";
  }
}

const NOT_OF_TEXT = new Set(["number", "boolean", "array", "object", "strict_object", "record"]);

/** Returns what is expected, for schemas of plugins that have no message of their own. */
function expectation(issue: Issue): string {
  if (isUnknownKey(issue)) return "";
  if (issue.expected === "never") return "nothing here";
  const words = EXPECTED[issue.type];
  if (words !== undefined) return words;
  switch (issue.type) {
    case "object":
    case "strict_object":
    case "record":
      return issue.expected === "Object" ? "a mapping" : "a value";
    case "min_value":
      return `a number of at least ${String(issue.requirement)}`;
    case "max_value":
      return `a number of at most ${String(issue.requirement)}`;
    case "picklist":
      return `one of ${(issue.expected ?? "").replace(/[()"]/g, "").replaceAll(" | ", ", ")}`;
    default:
      return issue.expected ?? "another value";
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  non_empty: "at least one",
};

function isUnknownKey(issue: Issue): boolean {
  const last = issue.path?.at(-1);
  return issue.expected === "never" && last?.origin === "key" && isObject(last.input);
}

function pathOf(issue: Issue): Path {
  return (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
}

/** Returns the invalid part: the value, or the key if the key is invalid. */
function faultOf(issue: Issue, value: unknown): unknown {
  const there = valueAt(value, pathOf(issue));
  const last = issue.path?.at(-1);
  return last?.origin === "key" && there !== undefined ? last.key : there;
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    at = Array.isArray(at) ? at[Number(step)] : isObject(at) ? at[String(step)] : undefined;
  }
  return at;
}

function remove(value: unknown, path: Path): void {
  const parent = valueAt(value, path.slice(0, -1));
  if (isObject(parent)) Reflect.deleteProperty(parent, String(path.at(-1)));
}
