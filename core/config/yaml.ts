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
  type Node,
  parseDocument,
  Scalar,
  visit,
} from "yaml";
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

const TOO_MUCH = "expected a smaller file, or less nesting";

/** Returns undefined, with the reasons in `problems`, if the text cannot be parsed. */
export function parseYaml(
  file: string,
  text: string,
  environment: Environment,
  problems: Problems,
): Source | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const faults = [...document.errors, ...document.warnings];
  for (const { code, pos } of faults) {
    const repeated = code === "DUPLICATE_KEY" ? nameAt(text, pos[0]) : "";
    const place = placedAt(file, lines.linePos(pos[0]).line);
    problems.add(place, [], `expected ${wording(code)}${repeated}`);
  }
  if (faults.some(({ code }) => code !== "DUPLICATE_KEY")) return undefined;
  const reading = new Reading(file, document, lines, environment, problems);
  return reading.isTooMuch ? undefined : reading;
}

/** Converts the nodes of a document to plain values. Lines are looked up in the document, for messages only. */
class Reading implements Source {
  readonly value: unknown;
  isTooMuch = false;
  private nodes = 0;
  private readonly anchored: ReadonlyMap<Alias, Node>;

  constructor(
    readonly file: string,
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
    private readonly environment: Environment,
    private readonly problems: Problems,
  ) {
    this.anchored = anchoredIn(document);
    this.value = this.read(document.contents, []);
  }

  /** Returns the line of the value, or else of the nearest one around it. */
  lineOf(path: Path): number | undefined {
    const offset = this.placesOf(path).findLast(({ range }) => range)?.range?.[0];
    return offset === undefined ? undefined : this.lines.linePos(offset).line;
  }

  writtenAt(path: Path): string {
    const places = this.placesOf(path);
    const { value } = places[path.length - 1] ?? {};
    const scalar = this.target(value);
    return isScalar(scalar) ? String(scalar.value).slice(0, 100) : "";
  }

  /** Returns the place of each step of a path, as far as the document has it. */
  private placesOf(path: Path): Place[] {
    const places: Place[] = [];
    let node = this.target(this.document.contents);
    for (const step of path) {
      const place = placeIn(node, step);
      if (place === undefined) break;
      places.push(place);
      node = this.target(place.value);
    }
    return places;
  }

  private target(node: unknown): unknown {
    return isAlias(node) ? this.target(this.anchored.get(node)) : node;
  }

  private read(node: unknown, path: Path): unknown {
    if (++this.nodes > NODES_MAX || path.length > DEPTH_MAX) {
      if (!this.isTooMuch) this.problems.add(this, path.slice(0, 1), TOO_MUCH);
      this.isTooMuch = true;
      return null;
    }
    if (isAlias(node)) {
      const anchored = this.anchored.get(node);
      if (!anchored) this.problems.add(this, path, "expected an alias of an anchor before it");
      return this.read(anchored, path);
    }
    if (isMap(node)) {
      // `fromEntries` makes an own property of any key, `__proto__` included.
      return Object.fromEntries(
        node.items.map(({ key, value }) => {
          const name = oneByte(nameOf(key));
          return [name, this.read(value, [...path, name])];
        }),
      );
    }
    if (isSeq(node)) {
      return node.items.map((item, index) => this.read(item, [...path, index]));
    }
    return isScalar(node) ? this.scalar(node, path) : null;
  }

  private scalar(node: Scalar, path: Path): unknown {
    const value = this.expanded(node, path);
    return typeof value === "string" ? oneByte(value) : value;
  }

  private expanded(node: Scalar, path: Path): unknown {
    if (typeof node.value === "number" && THOUSANDS.test(node.source ?? "")) {
      const { source = "", value } = node;
      const whole = source.replaceAll(".", "");
      const meant = `write ${whole}, or ${value}`;
      this.problems.add(
        this,
        path,
        `expected a number without separators: YAML reads ${source} as ${value}; ${meant}`,
      );
    }
    if (typeof node.value !== "string" || !node.value.includes("${")) return node.value;
    const { text, faults } = expand(node.value, this.environment);
    if (faults.length > 0) this.problems.add(this, path, faults.join("; "));
    // As elsewhere in YAML, a quoted value is text; an unquoted `${PORT}` can be a number.
    return node.type === Scalar.PLAIN ? plainValue(text) : text;
  }
}

/** A number as Vietnamese write thousands. */
const THOUSANDS = /^-?[1-9]\d{0,2}\.000$/;

/** A value in the document, and where it begins: at its key, if it has one. */
interface Place {
  readonly value: unknown;
  readonly range: Node["range"] | undefined;
}

function placeIn(node: unknown, step: string | number): Place | undefined {
  if (isMap(node)) {
    const pair = node.items.findLast(({ key }) => nameOf(key) === step);
    return pair && { value: pair.value, range: rangeOf(pair.key) };
  }
  if (!isSeq(node) || typeof step !== "number" || step >= node.items.length) return undefined;
  const value = node.items[step];
  return { value, range: rangeOf(value) };
}

function nameOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : "?";
}

function rangeOf(node: unknown): Node["range"] | undefined {
  return isNode(node) ? node.range : undefined;
}

/**
 * Returns the node of each alias: the last one before it with its anchor. The library's `resolve` walks the whole
 * document for each alias, which took a fifth of a gateway's start.
 */
function anchoredIn(document: Document.Parsed): Map<Alias, Node> {
  const latest = new Map<string, Node>();
  const anchored = new Map<Alias, Node>();
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

function plainValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Returns the name of a repeated key if it is a plain word: another text may be a provider key. */
function nameAt(text: string, at: number): string {
  const [, name] = /^["']?([a-z_]{1,40})["']?\s*:/.exec(text.slice(at, at + 50)) ?? [];
  return name === undefined ? "" : `, got ${name} twice`;
}

/** Replaces the library's messages, which quote the text around an error: it may be a provider key. */
function wording(code: ErrorCode): string {
  switch (code) {
    case "DUPLICATE_KEY":
      return "each key of a mapping once";
    case "BAD_INDENT":
    case "TAB_AS_INDENT":
      return "YAML indented with the same spaces throughout";
    case "MULTIPLE_DOCS":
      return "one YAML document";
    case "TAG_RESOLVE_FAILED":
      return "YAML without custom tags";
    default:
      return `well-formed YAML (${code.toLowerCase().replaceAll("_", " ")})`;
  }
}
