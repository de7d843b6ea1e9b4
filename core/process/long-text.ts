const QUOTE = 34;
const BACKSLASH = 92;
const LETTER_U = 117;

/** Kinds of bytes inside a JSON string. `PLAIN` is 0, so that the usual case is one comparison. */
const PLAIN = 0;
const CONTINUED = 1;
const LEAD = 2;
const LEAD_OF_FOUR = 3;
const ENDS = 4;
const ESCAPES = 5;
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE || byte < 32) return ENDS;
  if (byte === BACKSLASH) return ESCAPES;
  if (byte < 0x80) return PLAIN;
  if (byte < 0xc0) return CONTINUED;
  return byte < 0xf0 ? LEAD : LEAD_OF_FOUR;
});

/** The characters that simple escapes stand for, by the byte after the backslash; 0 for none. */
const ESCAPED = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"]) {
  ESCAPED[letter?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;
}
const HEX = new Int8Array(256).fill(-1);
for (const [at, digit] of [..."0123456789abcdef"].entries()) {
  HEX[digit.charCodeAt(0)] = at;
  HEX[digit.toUpperCase().charCodeAt(0)] = at;
}

/**
 * The position of a decoded character is noted once in this many bytes, so that a part can be read without the rest.
 */
const BYTES_PER_MARK = 256;

const ADDRESS_OR_ERROR = /^(data:|http|error)/i;
/** The length of the longest escape of one UTF-16 unit. */
const ESCAPE_BYTES = 6;

/**
 * A string of a JSON text, measured in place and not decoded. `from` and `to` are the bytes between its quotes.
 * The bytes must be UTF-8.
 */
export class LongText {
  readonly from: number;
  /** The index of the closing quote; -1 if the string has none, or is not a JSON string. */
  readonly to: number;
  /** The length of the decoded string, in UTF-16 units. */
  readonly units: number;
  /** The length of the decoded string in UTF-8, as `Buffer.byteLength` counts it. */
  readonly utf8Bytes: number;
  private readonly bytes: Buffer;
  private readonly words: Int32Array;
  /** Pairs: a position in the bytes, and how many units begin before it. */
  private readonly marks: number[];

  /** `words` is all memory of the bytes, as `wordsOf` returns it: a view costs as much as a short text. */
  constructor(bytes: Buffer, from: number, words = wordsOf(bytes)) {
    this.bytes = bytes;
    this.words = words;
    this.from = from;
    const { length, byteOffset: start } = bytes;
    // Most texts need no second mark. An empty list would get room for 17 numbers with the first.
    const marks = [from, 0];
    this.marks = marks;
    let at = from;
    let units = 0;
    /** How many more bytes the raw text has than the decoded one. */
    let saved = 0;
    let to = -1;
    walk: while (at < length) {
      if (at !== from) marks.push(at, units);
      const stop = Math.min(at + BYTES_PER_MARK, length);
      while (at < stop) {
        // Reads four bytes at once, up to the first group that is not plain text.
        if (((start + at) & 3) === 0) {
          const end = (start + stop) >> 2;
          let word = (start + at) >> 2;
          for (; word < end; word++) {
            const four = words[word] ?? 0;
            if (endsOrEscapes(four)) break;
            units += (four & EACH_HIGH) === 0 ? 4 : unitsIn(four);
          }
          at = (word << 2) - start;
          if (at >= stop) break;
        }
        const kind = KINDS[bytes[at] ?? 0];
        if (kind === PLAIN || kind === LEAD) {
          at++;
          units++;
        } else if (kind === CONTINUED) at++;
        else if (kind === LEAD_OF_FOUR) {
          at++;
          units += 2;
        } else if (kind === ESCAPES) {
          const code = escapeAt(bytes, at);
          if (code === -1) break walk;
          if (bytes[at + 1] !== LETTER_U) {
            at += 2;
            saved++;
          } else if (isPair(code, bytes, at)) {
            at += 12;
            saved += 12 - 4;
            units++;
          } else {
            at += 6;
            saved += 6 - utf8BytesOf(code);
          }
          units++;
        } else {
          if (bytes[at] === QUOTE) to = at;
          break walk;
        }
      }
    }
    this.to = to;
    this.units = units;
    this.utf8Bytes = to - from - saved;
  }

  /** Copies the bytes between the quotes. Returns how many there are. */
  copy(into: Buffer, at: number): number {
    return this.bytes.copy(into, at, this.from, this.to);
  }

  /**
   * Returns true if code that asks whether a text is blank, an address or an error need not see the text itself. False
   * also for a few texts that begin with rare characters.
   */
  get beginsPlainly(): boolean {
    const { bytes, from } = this;
    const first = bytes[from] ?? 0;
    const isVisible = first > 32 && first < 0x7f && first !== BACKSLASH;
    // Vietnamese begins with 0xc3 to 0xc6 and 0xe1 0xba or 0xbb. Spaces begin with 0xc2, 0xe1, 0xe2, 0xe3 and 0xef.
    const second = bytes[from + 1];
    const isLetter =
      (first >= 0xc3 && first < 0xe1) ||
      (first > 0xe3 && first !== 0xef) ||
      (first === 0xe1 && (second === 0xba || second === 0xbb));
    if (!isVisible && !isLetter) return false;
    return !ADDRESS_OR_ERROR.test(bytes.toString("latin1", from, from + 5));
  }

  /** Returns true if the text ends with a visible character of ASCII, so that there is no space to cut off. */
  get endsPlainly(): boolean {
    const { bytes, to } = this;
    const last = bytes[to - 1] ?? 0;
    if (last <= 32 || last >= 0x7f) return false;
    for (let at = to - ESCAPE_BYTES; at < to; at++) if (bytes[at] === BACKSLASH) return false;
    return true;
  }

  decoded(): string {
    return JSON.parse(this.bytes.toString("utf8", this.from - 1, this.to + 1));
  }

  /** Decodes units into `into`, from the unit `from` on: as many as it has room for, or `count`. The text must have them. */
  read(from: number, into: Uint16Array, count = into.length): void {
    const { bytes, words } = this;
    const { byteOffset: start } = bytes;
    const mark = this.markBefore(from);
    let at = this.marks[mark] ?? 0;
    let unit = this.marks[mark + 1] ?? 0;
    const end = from + count;
    while (unit < end) {
      // Skips four bytes at once, in which at most five units begin.
      if (unit + 5 <= from && ((start + at) & 3) === 0) {
        const four = words[(start + at) >> 2] ?? 0;
        if (!endsOrEscapes(four)) {
          unit += (four & EACH_HIGH) === 0 ? 4 : unitsIn(four);
          at += 4;
          continue;
        }
      }
      const byte = bytes[at] ?? 0;
      // The rest of a character before a mark or of one that was skipped: its units count as begun.
      if (KINDS[byte] === CONTINUED) {
        at++;
        continue;
      }
      let code = byte;
      let low = -1;
      if (byte === BACKSLASH) {
        code = escapeAt(bytes, at);
        at += byteAfterIsU(bytes, at) ? 6 : 2;
      } else if (byte < 0x80) at++;
      else if (byte < 0xe0) {
        code = ((byte & 0x1f) << 6) | rest(bytes, at + 1);
        at += 2;
      } else if (byte < 0xf0) {
        code = ((byte & 0x0f) << 12) | (rest(bytes, at + 1) << 6) | rest(bytes, at + 2);
        at += 3;
      } else {
        const point =
          ((byte & 0x07) << 18) |
          (rest(bytes, at + 1) << 12) |
          (rest(bytes, at + 2) << 6) |
          rest(bytes, at + 3);
        code = 0xd800 + ((point - 0x10000) >> 10);
        low = 0xdc00 + ((point - 0x10000) & 0x3ff);
        at += 4;
      }
      if (unit >= from) into[unit - from] = code;
      unit++;
      if (low !== -1) {
        if (unit >= from && unit < end) into[unit - from] = low;
        unit++;
      }
    }
  }

  /** Returns the index of the last mark that has at most this many units before it. */
  private markBefore(units: number): number {
    const { marks } = this;
    let low = 0;
    let high = marks.length / 2 - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((marks[2 * middle + 1] ?? 0) <= units) low = middle;
      else high = middle - 1;
    }
    return 2 * low;
  }
}

/** Returns the memory of a buffer as words. */
export function wordsOf({ buffer }: Buffer): Int32Array {
  return new Int32Array(buffer, 0, buffer.byteLength >> 2);
}

const EACH = 0x01010101;
const EACH_HIGH = 0x80808080 | 0;
const EACH_QUOTE = 0x22222222;
const EACH_BACKSLASH = 0x5c5c5c5c;
const EACH_SPACE = 0x20202020;

/**
 * Returns true if one of four bytes is a quote, a backslash or a control character. Subtracting borrows from the high bit
 * of a byte that was below; `graphics.stanford.edu/~seander/bithacks.html`, "hasless".
 */
function endsOrEscapes(four: number): boolean {
  const quote = four ^ EACH_QUOTE;
  const backslash = four ^ EACH_BACKSLASH;
  const found =
    ((quote - EACH) & ~quote) | ((backslash - EACH) & ~backslash) | ((four - EACH_SPACE) & ~four);
  return (found & EACH_HIGH) !== 0;
}

/** Returns how many UTF-16 units begin in four bytes: none in a continued byte, two in the first of four. */
function unitsIn(four: number): number {
  const continued = (four >>> 7) & (~four >>> 6) & EACH;
  const leadsOfFour = (four >>> 7) & (four >>> 6) & (four >>> 5) & (four >>> 4) & EACH;
  return 4 - (Math.imul(continued, EACH) >>> 24) + (Math.imul(leadsOfFour, EACH) >>> 24);
}

const rest = (bytes: Buffer, at: number) => (bytes[at] ?? 0) & 0x3f;

const byteAfterIsU = (bytes: Buffer, at: number) => bytes[at + 1] === LETTER_U;

/** Returns the UTF-16 unit of the escape that begins at the backslash `at`; -1 if it is not an escape. */
function escapeAt(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== LETTER_U) return ESCAPED[letter] || -1;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit++) {
    const value = HEX[bytes[digit] ?? 0] ?? -1;
    if (value === -1) return -1;
    code = code * 16 + value;
  }
  return code;
}

/** Returns true if `code`, the escape at `at`, and the escape behind it are a surrogate pair. */
function isPair(code: number, bytes: Buffer, at: number): boolean {
  if (code < 0xd800 || code > 0xdbff) return false;
  if (bytes[at + 6] !== BACKSLASH || !byteAfterIsU(bytes, at + 6)) return false;
  const low = escapeAt(bytes, at + 6);
  return low >= 0xdc00 && low <= 0xdfff;
}

/** A lone surrogate counts as U+FFFD, which takes its place in UTF-8. */
function utf8BytesOf(code: number): number {
  if (code < 0x80) return 1;
  return code < 0x800 ? 2 : 3;
}
