import { dirname, isAbsolute, join } from "node:path";
import { isObject } from "../process/json.ts";
import { type Environment, expand } from "./environment.ts";
import type { Path, Problems } from "./problem.ts";

/** Limits for aliases, which can expand a small file into a huge value. Real files stay far below them. */
export const DEPTH_MAX = 32;
const NODES_MAX = 200_000;

/** A number as Vietnamese write thousands. */
const THOUSANDS = /^-?[1-9]\d{0,2}\.000$/;
const NOT_LATIN1 = /[^\0-\xff]/;

/** A node of a parsed file. Of a scalar of YAML `source` is its text; `isPlain`: it has no quotes. */
export type Node =
  | { readonly kind: "mapping" | "list"; readonly parts: readonly Part[] }
  | {
      readonly kind: "scalar";
      readonly value: unknown;
      readonly source?: string;
      readonly isPlain?: boolean;
    };

/** A field or an item, and where it begins in the text, at its key if it has one. `node`: undefined for an alias of nothing. */
export interface Part {
  readonly step: string | number;
  readonly offset: number | undefined;
  readonly node: Node | undefined;
}

/**
 * A parsed file, as plain data: it may come from another thread. An alias shares the node of its anchor. What lies below
 * `DEPTH_MAX` is null: `Source` refuses such a file.
 */
export interface Parsed {
  readonly root: Node | undefined;
  /** The offset of each line. */
  readonly lineStarts: readonly number[];
}

export const NOTHING: Node = { kind: "scalar", value: null };

/** Returns a value of `JSON.parse` as a node. */
export function jsonNode(value: unknown, depth = 0): Node {
  if (depth > DEPTH_MAX) return NOTHING;
  if (!isObject(value) && !Array.isArray(value)) return { kind: "scalar", value };
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([name, item]) => {
    return { step: isList ? Number(name) : name, offset: 0, node: jsonNode(item, depth + 1) };
  });
  return { kind: isList ? "list" : "mapping", parts };
}

/** A config file with its variables replaced, and the line of each value. Messages about it go to `problems`. */
export class Source {
  readonly value: unknown;
  isTooMuch = false;
  private nodes = 0;

  constructor(
    readonly file: string,
    readonly environment: Environment,
    readonly problems: Problems,
    private readonly parsed: Parsed,
  ) {
    this.value = this.read(parsed.root, []);
  }

  report(path: Path, message: string): void {
    this.problems.add(this.file, this.lineOf(path), path, message);
  }

  /** Returns a scalar as written in the file, before variables are replaced: safe to quote in a message. */
  writtenAt(path: Path): string {
    let node = this.parsed.root;
    for (const step of path) node = partOf(node, step)?.node;
    return node?.kind === "scalar" ? String(node.value).slice(0, 100) : "";
  }

  beside(path: string): string {
    return isAbsolute(path) ? path : join(dirname(this.file), path);
  }

  /** Returns the line of the value, or else of the nearest one around it. */
  private lineOf(path: Path): number | undefined {
    let node = this.parsed.root;
    let offset: number | undefined;
    for (const step of path) {
      const part = partOf(node, step);
      offset = part?.offset ?? offset;
      node = part?.node;
    }
    if (offset === undefined) return undefined;
    const at = offset;
    return this.parsed.lineStarts.findLastIndex((start) => start <= at) + 1;
  }

  private read(node: Node | undefined, path: Path): unknown {
    if (++this.nodes > NODES_MAX || path.length > DEPTH_MAX) {
      if (!this.isTooMuch)
        this.report(path.slice(0, 1), "expected a smaller file, or less nesting");
      this.isTooMuch = true;
      return null;
    }
    if (!node) {
      this.report(path, "expected an alias of an anchor before it");
      return null;
    }
    if (node.kind === "scalar") return this.scalar(node, path);
    if (node.kind === "list") {
      return node.parts.map((part) => this.read(part.node, [...path, part.step]));
    }
    // `fromEntries` makes an own property of any key, `__proto__` included.
    return Object.fromEntries(
      node.parts.map((part) => {
        const name = oneByte(String(part.step));
        return [name, this.read(part.node, [...path, name])];
      }),
    );
  }

  private scalar(
    { value, source = "", isPlain }: Extract<Node, { kind: "scalar" }>,
    path: Path,
  ): unknown {
    if (typeof value === "number" && THOUSANDS.test(source)) {
      const meant = `write ${source.replaceAll(".", "")}, or ${value}`;
      const read = `YAML reads ${source} as ${value}; ${meant}`;
      this.report(path, `expected a number without separators: ${read}`);
    }
    if (typeof value !== "string") return value;
    if (!value.includes("${")) return oneByte(value);
    const { text, faults } = expand(value, this.environment);
    if (faults.length > 0) this.report(path, faults.join("; "));
    // As elsewhere in YAML, a quoted value is text; an unquoted `${PORT}` can be a number.
    if (isPlain && (text === "true" || text === "false")) return text === "true";
    return isPlain && /^-?\d{1,15}$/.test(text) ? Number(text) : oneByte(text);
  }
}

function partOf(node: Node | undefined, step: string | number): Part | undefined {
  return node && "parts" in node ? node.parts.findLast((part) => part.step === step) : undefined;
}

/**
 * Copies a text, with one byte per character if its characters allow it. V8 stores a whole file in two bytes per
 * character if one letter needs them, and every substring of it too. A single such model name then makes each
 * record, log line and request body that contains it two bytes wide, and slow to copy.
 */
function oneByte(text: string): string {
  return NOT_LATIN1.test(text) ? text : Buffer.from(text, "latin1").toString("latin1");
}
