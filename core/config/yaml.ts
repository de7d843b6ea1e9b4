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
import type { Problems } from "./problem.ts";
import type { Node, Parsed } from "./source.ts";

/** Returns undefined, with the reasons in `problems`, if the text cannot be parsed. */
export function parseYaml(file: string, text: string, problems: Problems): Parsed | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const faults = [...document.errors, ...document.warnings];
  for (const { code, pos } of faults) {
    const repeated = code === "DUPLICATE_KEY" ? nameAt(text, pos[0]) : "";
    problems.add(file, lineAt(pos[0]), [], `expected ${wording(code)}${repeated}`);
  }
  if (faults.some(({ code }) => code !== "DUPLICATE_KEY")) return undefined;
  const anchored = anchoredIn(document);
  return {
    lineAt: (offset) => (offset === undefined ? undefined : lineAt(offset)),
    open: () => nodeOf(document.contents, anchored),
  };
}

type Anchored = ReadonlyMap<Alias, YamlNode>;

function nodeOf(node: unknown, anchored: Anchored): Node | undefined {
  if (isAlias(node)) {
    const target = anchored.get(node);
    return target && nodeOf(target, anchored);
  }
  const part = (step: string | number, value: unknown, place: unknown) => {
    const offset = isNode(place) ? place.range?.[0] : undefined;
    return { step, offset, open: () => nodeOf(value, anchored) };
  };
  if (isMap(node)) {
    const parts = node.items.map(({ key, value }) =>
      part(isScalar(key) ? String(key.value) : "?", value, key),
    );
    return { kind: "mapping", parts };
  }
  if (isSeq(node)) {
    return { kind: "list", parts: node.items.map((item, at) => part(at, item, item)) };
  }
  if (!isScalar(node)) return { kind: "scalar", value: null };
  const { value, source = "", type } = node;
  return { kind: "scalar", value, source, isPlain: type === Scalar.PLAIN };
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
