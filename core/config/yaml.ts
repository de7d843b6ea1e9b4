import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
  visit,
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
  const nodes = new Nodes(anchoredIn(document));
  return { root: nodes.of(document.contents, 0), lineStarts: lines.lineStarts };
}

type Anchored = ReadonlyMap<Alias, YamlNode>;

/** Converts the library's nodes into plain ones, each collection once: an alias may be inside of its own anchor. */
class Nodes {
  private readonly made = new Map<unknown, Node>();

  constructor(private readonly anchored: Anchored) {}

  of(node: unknown, depth: number): Node | undefined {
    if (isAlias(node)) {
      const target = this.anchored.get(node);
      return target && this.of(target, depth);
    }
    if (depth > DEPTH_MAX) return NOTHING;
    if (isScalar(node)) {
      const { value, source = "", type } = node;
      return { kind: "scalar", value, source, isPlain: type === Scalar.PLAIN };
    }
    if (!isMap(node) && !isSeq(node)) return NOTHING;
    const before = this.made.get(node);
    if (before) return before;
    const parts: Part[] = [];
    this.made.set(node, { kind: isMap(node) ? "mapping" : "list", parts });
    const add = (step: string | number, value: unknown, place: unknown) => {
      const offset = isNode(place) ? place.range?.[0] : undefined;
      parts.push({ step, offset, node: this.of(value, depth + 1) });
    };
    if (isSeq(node)) for (const [at, item] of node.items.entries()) add(at, item, item);
    else {
      for (const { key, value } of node.items) {
        add(isScalar(key) ? String(key.value) : "?", value, key);
      }
    }
    return this.made.get(node);
  }
}

/**
 * Returns the node of each alias: the last one before it with its anchor. The library's `resolve` walks the whole
 * document for each alias, which took a fifth of a gateway's start.
 */
function anchoredIn(document: Document.Parsed): Anchored {
  const latest = new Map<string, YamlNode>();
  const anchored = new Map<Alias, YamlNode>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = latest.get(node.source);
        if (target) anchored.set(node, target);
      } else if (node.anchor !== undefined) latest.set(node.anchor, node);
    },
  });
  return anchored;
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
