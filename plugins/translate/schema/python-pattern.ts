/** Longer or deeper ones are left out, so that no pattern takes long to check. */
const CHARS_MAX = 5_000;
const GROUPS_DEEP_MAX = 50;

/** Inline flags that do not change how a pattern is read, as `x` would. */
const GLOBAL_FLAGS = /\(\?[ims]+\)/y;
const GROUP_HEAD = /\((?:\?(?:[ims]*:|[=!]|<[=!]|P<([A-Za-z_]\w*)>))?/y;
const NAMED_REFERENCE = /\(\?P=([A-Za-z_]\w*)\)/y;
const BRACES = /\{(?:(\d+)(?:(,)(\d*))?|(,)(\d*))\}/y;
const REPEAT_DIGITS_MAX = 9;

const CLASS_ESCAPE = /\\[dDwWsS]/y;
const ANCHOR_ESCAPE = /\\[bBAZ]/y;
const OCTAL = /\\(0[0-7]{0,2}|[0-3][0-7]{2})/y;
const GROUP_REFERENCE = /\\([1-9]\d?)/y;
const HEX = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/y;
const CONTROL = /\\[abfnrtv]/y;
const CONTROLS: Readonly<Record<string, number>> = {
  ...{ a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 },
};
/** Any other character stands for itself after a backslash, unless it is an ASCII letter or digit. */
const LITERAL_ESCAPE = /\\[^A-Za-z0-9]/uy;
const CODE_POINT_MAX = 0x10_ffff;

/** The fewest and the most characters that a part of a pattern matches. */
type Width = readonly [min: number, max: number];

const NONE: Width = [0, 0];
const ONE: Width = [1, 1];

/**
 * Returns true if Python's `re.compile` takes the pattern. Returns false in doubt: for features that came with 3.11, for
 * `[]`, which Python reads in another way than JavaScript, and for surrogates, which match nothing in Python.
 */
export function isPythonPattern(pattern: string): boolean {
  return pattern.length <= CHARS_MAX && new Pattern(pattern).isValid();
}

/** Reads a pattern once, from left to right. At a fault it jumps to the end, so that only the end checks for one. */
class Pattern {
  private at = 0;
  private isFaulty = false;
  private depth = 0;
  private lookbehinds = 0;
  /** By number, less one: true once the group is closed. */
  private readonly groups: boolean[] = [];
  private readonly names = new Map<string, number>();

  constructor(private readonly text: string) {}

  isValid(): boolean {
    this.match(GLOBAL_FLAGS);
    this.alternatives();
    return !this.isFaulty && this.at === this.text.length;
  }

  private fail(): Width {
    this.isFaulty = true;
    this.at = this.text.length;
    return NONE;
  }

  private match(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.at;
    const found = form.exec(this.text);
    if (found) this.at = form.lastIndex;
    return found;
  }

  private take(char: string): boolean {
    if (this.text[this.at] !== char) return false;
    this.at++;
    return true;
  }

  private alternatives(): Width {
    let [min, max] = this.sequence();
    while (this.take("|")) {
      const [least, most] = this.sequence();
      min = Math.min(min, least);
      max = Math.max(max, most);
    }
    return [min, max];
  }

  private sequence(): Width {
    let min = 0;
    let max = 0;
    while (this.at < this.text.length) {
      const char = this.text[this.at];
      if (char === "|" || char === ")") break;
      const [least, most] = this.repeated();
      min += least;
      max += most;
    }
    return [min, max];
  }

  private repeated(): Width {
    const isAnchor = this.anchor();
    const [least, most] = isAnchor ? NONE : this.item();
    const times = this.quantifier();
    if (!times) return [least, most];
    if (isAnchor) return this.fail();
    this.take("?");
    // A second quantifier is a fault, a plus behind one came with 3.11.
    if (this.quantifier()) return this.fail();
    const max = most === 0 ? 0 : most * times[1];
    return [least * times[0], max];
  }

  private anchor(): boolean {
    return this.take("^") || this.take("$") || this.match(ANCHOR_ESCAPE) !== null;
  }

  private quantifier(): Width | undefined {
    if (this.take("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.take("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.take("?")) return [0, 1];
    const braces = this.match(BRACES);
    if (!braces) return undefined;
    const least = braces[1] ?? "";
    const isExact = braces[2] === undefined && braces[4] === undefined;
    const most = isExact ? least : (braces[3] ?? braces[5] ?? "");
    if (Math.max(least.length, most.length) > REPEAT_DIGITS_MAX) return this.fail();
    const min = Number(least);
    const max = most === "" ? Number.POSITIVE_INFINITY : Number(most);
    return min > max ? this.fail() : [min, max];
  }

  private item(): Width {
    const char = this.text[this.at];
    if (char === "(") return this.group();
    if (char === "[") return this.set();
    if (char === "\\") return this.escape();
    if (char === "*" || char === "+" || char === "?") return this.fail();
    if (char === "{" && this.quantifier()) return this.fail();
    return this.literal();
  }

  private literal(): Width {
    this.codePoint();
    return ONE;
  }

  private codePoint(): number {
    const code = this.text.codePointAt(this.at) ?? 0;
    this.at += code > 0xffff ? 2 : 1;
    return code;
  }

  private group(): Width {
    const reference = this.match(NAMED_REFERENCE);
    if (reference) return this.reference(this.names.get(reference[1] ?? ""));
    const [head, name] = this.match(GROUP_HEAD) ?? [];
    // Any other head leaves its question mark, which is a fault.
    if (head === undefined || ++this.depth > GROUPS_DEEP_MAX) return this.fail();
    const isCapture = head === "(" || name !== undefined;
    const number = isCapture ? this.groups.push(false) : 0;
    if (name !== undefined) {
      if (this.names.has(name)) return this.fail();
      this.names.set(name, number);
    }
    const isBehind = head.startsWith("(?<");
    if (isBehind) this.lookbehinds++;
    const inner = this.alternatives();
    if (isBehind) this.lookbehinds--;
    if (isBehind && inner[0] !== inner[1]) return this.fail();
    if (!this.take(")")) return this.fail();
    if (isCapture) this.groups[number - 1] = true;
    this.depth--;
    const isAssertion = isBehind || head === "(?=" || head === "(?!";
    return isAssertion ? NONE : inner;
  }

  private reference(number: number | undefined): Width {
    const isClosed = number !== undefined && this.groups[number - 1] === true;
    return isClosed && this.lookbehinds === 0 ? [0, Number.POSITIVE_INFINITY] : this.fail();
  }

  private escape(): Width {
    if (this.match(CLASS_ESCAPE)) return ONE;
    if (this.character() !== undefined) return ONE;
    const reference = this.match(GROUP_REFERENCE);
    return reference ? this.reference(Number(reference[1])) : this.fail();
  }

  /** Reads an escape of one character, and returns its code. */
  private character(): number | undefined {
    const hex = this.match(HEX);
    if (hex) return charOf(Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? "", 16));
    const octal = this.match(OCTAL);
    if (octal) return Number.parseInt(octal[1] ?? "", 8);
    const control = this.match(CONTROL);
    if (control) return CONTROLS[control[0].slice(1)];
    return this.match(LITERAL_ESCAPE)?.[0].codePointAt(1);
  }

  private set(): Width {
    this.at++;
    this.take("^");
    if (this.text[this.at] === "]") return this.fail();
    while (!this.take("]")) {
      if (this.at >= this.text.length) return this.fail();
      const from = this.member();
      if (this.text[this.at] !== "-" || this.text[this.at + 1] === "]") continue;
      this.at++;
      const to = this.member();
      if (from === undefined || to === undefined || from > to) return this.fail();
    }
    return ONE;
  }

  /** Reads a member of a set. Returns its code; undefined for a class, which can be no end of a range. */
  private member(): number | undefined {
    if (this.text[this.at] !== "\\") return this.codePoint();
    if (this.match(CLASS_ESCAPE)) return undefined;
    const code = this.character();
    if (code === undefined) this.fail();
    return code;
  }
}

/** Undefined beyond Unicode, and for a half of a character. */
function charOf(code: number): number | undefined {
  return code > CODE_POINT_MAX || (code >= 0xd800 && code <= 0xdfff) ? undefined : code;
}
