import { isDeepStrictEqual } from "node:util";
import { isObject, parseJson } from "../../../core/process/json.ts";

/**
 * Compares a value with the expected one: objects are subsets, arrays match element by element,
 * scalars are equal, and an object with a `$` key is a matcher. Returns the path and the
 * difference, or undefined.
 */
export function mismatch(actual: unknown, expected: unknown, path = "$"): string | undefined {
  if (isObject(expected)) {
    const special = Object.keys(expected).find((key) => key.startsWith("$"));
    if (special !== undefined) return mismatchSpecial(actual, special, expected[special], path);
    if (!isObject(actual)) return differ(path, actual, expected);
    for (const [key, value] of Object.entries(expected)) {
      const found = mismatch(actual[key], value, `${path}.${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differ(path, actual, expected);
    if (actual.length !== expected.length) {
      return `${path}: ${actual.length} elements, expected ${expected.length}: ${show(actual)}`;
    }
    for (const [at, value] of expected.entries()) {
      const found = mismatch(actual[at], value, `${path}[${at}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return Object.is(actual, expected) ? undefined : differ(path, actual, expected);
}

function mismatchSpecial(
  actual: unknown,
  special: string,
  wanted: unknown,
  path: string,
): string | undefined {
  const holds = ((): boolean => {
    switch (special) {
      case "$absent":
        return actual === undefined;
      case "$any":
        return actual !== undefined && actual !== null;
      case "$regex":
        return typeof actual === "string" && new RegExp(String(wanted)).test(actual);
      case "$json":
        return typeof actual === "string" && isDeepStrictEqual(parseJson(actual), wanted);
      case "$exact":
        return isDeepStrictEqual(actual, wanted);
      case "$not":
        return mismatch(actual, wanted, path) !== undefined;
      case "$contains":
        return typeof actual === "string" && actual.includes(String(wanted));
      case "$shows":
        return new RegExp(String(wanted), "s").test(JSON.stringify(actual) ?? "");
      case "$hides":
        return !new RegExp(String(wanted), "s").test(JSON.stringify(actual) ?? "");
      case "$gte":
        return typeof actual === "number" && actual >= Number(wanted);
      default:
        throw new Error(`${path}: unknown matcher ${special}`);
    }
  })();
  return holds ? undefined : `${path}: ${show(actual)} does not hold ${special} ${show(wanted)}`;
}

function differ(path: string, actual: unknown, expected: unknown): string {
  return `${path}: ${show(actual)}, expected ${show(expected)}`;
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}
