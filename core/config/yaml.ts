import {
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
  type Node as YamlNode,
} from "yaml";
import { type Problem, Problems } from "./problem.ts";
import { DEPTH_MAX, NOTHING, type Node, type Parsed, type Part } from "./source.ts";

/** A parsed text, undefined if it cannot be parsed, and its problems. */
export interface ReadYaml {
  readonly parsed: Parsed | undefined;
  readonly problems: readonly Problem[];
}

/** Parses the text of a file. */
export function readYaml(file: string, text: string): ReadYaml {
  const problems = new Problems();
  const parsed = parse(file, text, problems);
  return { parsed, problems: problems.list() };
}

function parse(file: string, text: string, problems: Problems): Parsed | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const faults = [...document.errors, ...document.warnings];
  for (const { code, pos } of faults) {
    const repeated = code === "DUPLICATE_KEY" ? nameAt(text, pos[0]) : "";
    problems.add(file, lineAt(pos[0]), [], `expected ${wording(code)}${repeated}`);
  }
  if (faults.some(({ code }) => code !== "DUPLICATE_KEY")) return undefined;
  return { root: new Nodes().of(document.contents, 0), lineStarts: lines.lineStarts };
}

/**
 * Converts the library's nodes into plain ones, in the order of the text: an alias is the last node before it with its
 * anchor, and may be inside of it. The library's `resolve` walks the whole document for each alias.
 */
class Nodes {
  private readonly anchored = new Map<string, Node>();

  of(node: unknown, depth: number): Node | undefined {
    if (isAlias(node)) return this.anchored.get(node.source);
    if (!isNode(node) || depth > DEPTH_MAX) return NOTHING;
    const parts: Part[] = [];
    const made = plain(node, parts);
    if (node.anchor !== undefined) this.anchored.set(node.anchor, made);
    const add = (step: string | number, value: unknown, place: unknown) => {
      const offset = isNode(place) ? place.range?.[0] : undefined;
      parts.push({ step, offset, node: this.of(value, depth + 1) });
    };
    if (isSeq(node)) for (const [at, item] of node.items.entries()) add(at, item, item);
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        // A key may have an anchor, too.
        this.of(key, depth + 1);
        add(isScalar(key) ? String(key.value) : "?", value, key);
      }
    }
    return made;
  }
}

function plain(node: YamlNode, parts: readonly Part[]): Node {
  if (!isScalar(node)) return { kind: isMap(node) ? "mapping" : "list", parts };
  const { value, source = "", type } = node;
  return { kind: "scalar", value, source, isPlain: type === Scalar.PLAIN };
}

/** Returns the name of a repeated key if it is a plain word: another text may be a provider key. */
function nameAt(text: string, at: number): string {
  const [, name] = /^["']?([a-z_]{1,40})["']?\s*:/.exec(text.slice(at, at + 50)) ?? [];
  return name === undefined ? "" : `, got ${name} twice`;
}

/** Replaces the library's messages, which quote the text around an error: it may be a provider key. */
function wording(code: ErrorCode): string {
  return WORDS[code] ?? `well-formed YAML (${code.toLowerCase().replaceAll("_", " ")})`;
}

const WORDS: Partial<Readonly<Record<ErrorCode, string>>> = {
  DUPLICATE_KEY: "each key of a mapping once",
  BAD_INDENT: "YAML indented with the same spaces throughout",
  TAB_AS_INDENT: "YAML indented with the same spaces throughout",
  MULTIPLE_DOCS: "one YAML document",
  TAG_RESOLVE_FAILED: "YAML without custom tags",
};
