import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { parseJson } from "../process/json.ts";
import { codeOf } from "../process/thrown.ts";
import type { Environment } from "./environment.ts";
import { inOwnThread } from "./own-thread.ts";
import type { Problems } from "./problem.ts";
import { jsonNode, type Parsed, Source } from "./source.ts";
import type { ReadYaml } from "./yaml.ts";

/**
 * Reads a file. Returns undefined, with the reasons in `problems`, if it cannot be read or parsed. `isServing`: this thread
 * has calls to serve beside it.
 */
export async function readSource(
  file: string,
  environment: Environment,
  problems: Problems,
  isServing = false,
): Promise<Source | undefined> {
  const fail = (expected: string) => problems.add(file, undefined, [], `expected ${expected}`);
  const bytes = await readFile(file).catch((error: unknown) => {
    fail(`a file that can be read (${codeOf(error) ?? "unknown error"})`);
  });
  if (!bytes) return undefined;
  if (!isUtf8(bytes)) {
    fail("a file in UTF-8");
    return undefined;
  }
  const text = bytes.toString("utf8");
  const parsed = parseJsonLine(text) ?? (await parsedYaml({ file, text }, problems, isServing));
  const source = parsed && new Source(file, environment, problems, parsed);
  return source?.isTooMuch ? undefined : source;
}

async function parsedYaml(
  given: { readonly file: string; readonly text: string },
  problems: Problems,
  isServing: boolean,
): Promise<Parsed | undefined> {
  const read = isServing
    ? await inOwnThread<ReadYaml>("yaml", given)
    : (await import("./yaml.ts")).readYaml(given.file, given.text);
  problems.addAll(read.problems);
  return read.parsed;
}

/**
 * Parses one line of JSON, exactly as `JSON.stringify` writes it, as programs write configs. Returns undefined for any other
 * file, which the YAML parser reads: loading that and parsing with it takes a sixth of a gateway's start. The exact text
 * shows that no key is there twice, which `JSON.parse` would not report.
 */
function parseJsonLine(text: string): Parsed | undefined {
  const value = text.startsWith("{") ? parseJson(text) : undefined;
  if (value === undefined || JSON.stringify(value) !== text.trimEnd()) return undefined;
  return { root: jsonNode(value), lineStarts: [0] };
}
