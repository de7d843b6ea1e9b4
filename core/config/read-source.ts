import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { codeOf } from "../process/thrown.ts";
import type { Environment } from "./environment.ts";
import { readJsonLine } from "./json-line.ts";
import { type Problems, placedAt, type Source } from "./problem.ts";

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
