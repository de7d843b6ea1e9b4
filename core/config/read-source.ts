import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { isObject, parseJson } from "../process/json.ts";
import { codeOf } from "../process/thrown.ts";
import { type Environment, expand } from "./environment.ts";
import {
  DEPTH_MAX,
  NODES_MAX,
  oneByte,
  type Path,
  type Problems,
  placedAt,
  type Source,
} from "./problem.ts";

/** Reads a file. Returns undefined, with the reasons in `problems`, if it cannot be read or parsed. */
export async function readSource(
  file: string,
  environment: Environment,
  problems: Problems,
): Promise<Source | undefined> {
  let text: string;
  try {
    const bytes = await readFile(file);
    if (!isUtf8(bytes)) {
      problems.add(placedAt(file, undefined), [], "expected a file in UTF-8");
      return undefined;
    }
    text = bytes.toString("utf8");
  } catch (error) {
    const code = codeOf(error) ?? "unknown error";
    problems.add(placedAt(file, undefined), [], `expected a file that can be read (${code})`);
    return undefined;
  }
  const json = readJsonLine(file, text, environment, problems);
  if (json) return json;
  const { parseYaml } = await import("./yaml.ts");
  return parseYaml(file, text, environment, problems);
}

/**
 * Reads a file that is one line of JSON, exactly as `JSON.stringify` writes it, as programs write configs. Returns
 * undefined for any other file, which the YAML parser reads: loading that and parsing with it takes a sixth of a
 * gateway's start. The exact text shows that no key is there twice, which `JSON.parse` would not report.
 */
function readJsonLine(
  file: string,
  text: string,
  environment: Environment,
  problems: Problems,
): Source | undefined {
  const written = text.startsWith("{") ? parseJson(text) : undefined;
  if (written === undefined || JSON.stringify(written) !== text.trimEnd()) return undefined;
  if (isTooMuch(written)) return undefined;
  const place = placedAt(file, 1);
  const read = (value: unknown, path: Path): unknown => {
    if (typeof value === "string") {
      const { text, faults } = expand(value, environment);
      if (faults.length > 0) problems.add(place, path, faults.join("; "));
      return oneByte(text);
    }
    if (Array.isArray(value)) return value.map((item, at) => read(item, [...path, at]));
    if (!isObject(value)) return value;
    // `fromEntries` makes an own property of any key, `__proto__` included.
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const name = oneByte(key);
        return [name, read(item, [...path, name])];
      }),
    );
  };
  const writtenAt = (path: Path) => {
    const value = path.reduce(memberOf, written);
    return typeof value === "object" ? "" : String(value).slice(0, 100);
  };
  return { ...place, value: read(written, []), writtenAt };
}

function memberOf(value: unknown, step: string | number): unknown {
  const isHolder = typeof value === "object" && value !== null && Object.hasOwn(value, step);
  return isHolder ? Reflect.get(value, step) : null;
}

function isTooMuch(value: unknown): boolean {
  let nodes = 0;
  const exceeds = (node: unknown, depth: number): boolean => {
    if (++nodes > NODES_MAX || depth > DEPTH_MAX) return true;
    if (typeof node !== "object" || node === null) return false;
    return Object.values(node).some((item) => exceeds(item, depth + 1));
  };
  return exceeds(value, 0);
}
