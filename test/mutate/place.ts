import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import type { Mutant } from "./mutants.ts";

/** The place of a mutant, for people. */
export interface Place {
  /** `core/money/wallets.ts:120` */
  readonly at: string;
  /** The source that it comes from: `core/money/wallets.ts`. */
  readonly source: string;
  /** The compiled line or lines, before and after, without indentation. */
  readonly before: string;
  readonly after: string;
}

const SHOWN_CHARACTERS_MAX = 160;

/** Returns the place of a mutant. `text` is the text of its file. */
export function placeOf({ file, start, end, replacement }: Mutant, text: string): Place {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const to = text.indexOf("\n", end);
  const until = to < 0 ? text.length : to;
  const line = text.slice(0, start).split("\n").length - 1;
  const map = readFileSync(join(packageRoot, `${file}.map`), "utf8");
  const entry = new SourceMap(JSON.parse(map) as SourceMapPayload).findEntry(line, start - from);
  const source = file.replace(/^dist\//, "").replace(/\.js$/, ".ts");
  return {
    at: "originalLine" in entry ? `${source}:${entry.originalLine + 1}` : source,
    source,
    before: shown(text.slice(from, until)),
    after: shown(text.slice(from, start) + replacement + text.slice(end, until)),
  };
}

function shown(lines: string): string {
  const line = lines.replace(/\s+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS_MAX ? `${line.slice(0, SHOWN_CHARACTERS_MAX)} …` : line;
}
