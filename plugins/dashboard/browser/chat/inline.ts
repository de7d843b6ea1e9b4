/** A piece of text within a block of Markdown. */
export type Inline =
  | string
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "em" | "del"; readonly content: readonly Inline[] }
  | { readonly kind: "link"; readonly address: string; readonly text: string }
  | { readonly kind: "break" };

/** Deeper emphasis is shown as plain text. */
const DEPTH_MAX = 6;
const ESCAPED = "\\`*_{}[]()#+.!|~-";

/** Reads emphasis, code, links and line breaks. Takes time linear in the text, whatever it is. */
export function inlineOf(text: string, depth = 0): Inline[] {
  return depth > DEPTH_MAX ? [text] : new Reader(text, depth).read();
}

class Reader {
  private readonly text: string;
  private readonly depth: number;
  private readonly made: Inline[] = [];
  /** The beginning of the plain text that is not in `made` yet. */
  private plainFrom = 0;
  private at = 0;
  private readonly nextOf = new Map<string, number>();
  private runs: ReadonlyMap<number, readonly number[]> | undefined = undefined;
  /** The latest closing bracket that no address follows: all brackets before it share it. */
  private endsNoLink = -1;

  constructor(text: string, depth: number) {
    this.text = text;
    this.depth = depth;
  }

  read(): Inline[] {
    const { text } = this;
    while (this.at < text.length) {
      const end = this.readAt(this.at);
      if (end === undefined) this.at += 1;
      else this.at = this.plainFrom = end;
    }
    this.putPlain(text.length);
    return this.made;
  }

  /** Reads what begins at a position. Returns its end; undefined if it is plain text. */
  private readAt(at: number): number | undefined {
    switch (this.text[at]) {
      case "`":
        return this.code(at);
      case "*":
        return this.strong(at, "**") ?? this.em(at, "*");
      case "_":
        return this.strong(at, "__") ?? this.em(at, "_");
      case "~":
        return this.del(at);
      case "!":
        return this.text[at + 1] === "[" ? this.link(at, at + 1) : undefined;
      case "[":
        return this.link(at, at);
      case "h":
        return this.bare(at);
      case "\\":
        return this.escape(at);
      case "\n":
        return this.lineBreak(at);
      default:
        return undefined;
    }
  }

  private put(from: number, piece: Inline): void {
    this.putPlain(from);
    this.made.push(piece);
  }

  private putPlain(to: number): void {
    if (to > this.plainFrom) this.made.push(this.text.slice(this.plainFrom, to));
  }

  /** A run of backticks, up to the next run of the same length. */
  private code(at: number): number {
    const { text } = this;
    let from = at;
    while (text[from] === "`") from += 1;
    const marks = from - at;
    const end = this.runOf(marks, from);
    // Without an end, the whole run is plain text.
    if (end === undefined) {
      this.putPlain(from);
      return from;
    }
    const inner = text.slice(from, end);
    const isPadded = inner.length > 2 && inner.startsWith(" ") && inner.endsWith(" ");
    this.put(at, { kind: "code", text: isPadded ? inner.slice(1, -1) : inner });
    return end + marks;
  }

  /** Returns the position of the next run of this many backticks. Finds all runs once. */
  private runOf(marks: number, from: number): number | undefined {
    this.runs ??= runsIn(this.text);
    const places = this.runs.get(marks) ?? [];
    return places[firstAtOrAfter(places, from)];
  }

  private strong(at: number, mark: "**" | "__"): number | undefined {
    if (!this.text.startsWith(mark, at) || isSpace(this.text[at + 2])) return undefined;
    const end = this.sameLine(mark, at + 3);
    if (end === undefined) return undefined;
    return this.emphasis("strong", at, at + 2, end, end + 2);
  }

  private em(at: number, mark: "*" | "_"): number | undefined {
    const { text } = this;
    const first = text[at + 1];
    if (isSpace(first) || first === mark) return undefined;
    const end = this.sameLine(mark, at + 1);
    if (end === undefined) return undefined;
    // `snake_case` is no emphasis.
    if (mark === "_" && (isWord(text[at - 1]) || isWord(text[end + 1]))) return undefined;
    return this.emphasis("em", at, at + 1, end, end + 1);
  }

  private del(at: number): number | undefined {
    if (!this.text.startsWith("~~", at) || this.text[at + 2] === "~") return undefined;
    const end = this.sameLine("~", at + 2);
    if (end === undefined || end === at + 2 || this.text[end + 1] !== "~") return undefined;
    return this.emphasis("del", at, at + 2, end, end + 2);
  }

  private emphasis(
    kind: "strong" | "em" | "del",
    at: number,
    from: number,
    to: number,
    end: number,
  ): number {
    this.put(at, { kind, content: inlineOf(this.text.slice(from, to), this.depth + 1) });
    return end;
  }

  /** `[text](address)`; the address may have one level of brackets. */
  private link(at: number, bracket: number): number | undefined {
    const { text } = this;
    const close = this.sameLine("]", bracket + 1);
    if (close === undefined || close === this.endsNoLink) return undefined;
    const end = text[close + 1] === "(" ? addressEnd(text, close + 2) : undefined;
    if (end === undefined) {
      this.endsNoLink = close;
      return undefined;
    }
    const address = text.slice(close + 2, end);
    const shown = text.slice(bracket + 1, close);
    this.put(at, { kind: "link", address, text: shown === "" ? address : shown });
    return end + 1;
  }

  private bare(at: number): number | undefined {
    const { text } = this;
    const scheme = text.startsWith("https://", at) ? 8 : text.startsWith("http://", at) ? 7 : 0;
    if (scheme === 0) return undefined;
    let end = at + scheme;
    while (end < text.length && !/[\s<>"')\]]/.test(text[end] ?? "")) end += 1;
    while (end > at && /[.,;:!?]/.test(text[end - 1] ?? "")) end -= 1;
    if (end <= at + scheme) return undefined;
    const address = text.slice(at, end);
    this.put(at, { kind: "link", address, text: address });
    return end;
  }

  private escape(at: number): number | undefined {
    const next = this.text[at + 1];
    if (next === undefined || !ESCAPED.includes(next)) return undefined;
    this.put(at, next);
    return at + 2;
  }

  private lineBreak(at: number): number {
    let from = at;
    while (from > this.plainFrom && this.text[from - 1] === " ") from -= 1;
    // One space at the end of a line stays; two are Markdown for a break.
    this.put(at - from >= 2 ? from : at, { kind: "break" });
    return at + 1;
  }

  /**
   * Returns the next place of a mark on this line. Searches each part of the text once for a mark: keeps the place until
   * the reader has passed it.
   */
  private sameLine(mark: string, from: number): number | undefined {
    const end = this.next("\n", this.at);
    const found = this.next(mark, from);
    return found < end ? found : undefined;
  }

  private next(mark: string, from: number): number {
    const known = this.nextOf.get(mark);
    if (known !== undefined && known >= from) return known;
    const found = this.text.indexOf(mark, from);
    const place = found === -1 ? Number.POSITIVE_INFINITY : found;
    this.nextOf.set(mark, place);
    return place;
  }
}

/** Returns the place of the bracket that ends an address; undefined if it has no end. */
function addressEnd(text: string, from: number): number | undefined {
  let open = 1;
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at];
    if (isSpace(sign)) return undefined;
    if (sign === "(" && ++open > 2) return undefined;
    if (sign === ")" && --open === 0) return at;
  }
  return undefined;
}

/** Returns the places of all runs of backticks, by their length. */
function runsIn(text: string): ReadonlyMap<number, readonly number[]> {
  const runs = new Map<number, number[]>();
  for (let at = text.indexOf("`"); at !== -1; at = text.indexOf("`", at)) {
    let end = at;
    while (text[end] === "`") end += 1;
    const places = runs.get(end - at);
    if (places) places.push(at);
    else runs.set(end - at, [at]);
    at = end;
  }
  return runs;
}

function firstAtOrAfter(places: readonly number[], from: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isSpace(sign: string | undefined): boolean {
  return sign === undefined || /\s/.test(sign);
}

function isWord(sign: string | undefined): boolean {
  return sign !== undefined && /[\p{L}\p{N}_]/u.test(sign);
}
