/** What stands next to what, in text that is ASCII; anything else is counted by its bytes. */
const LOWER = 0;
const UPPER = 1;
const DIGIT = 2;
const SPACE = 3;
const PUNCTUATION = 4;
const OTHER = 5;

/**
 * What a character adds beyond its share of a word, in 64ths of a token, by the kind before it (the row) and its
 * own. Words of lower-case letters add nothing; a digit after anything else begins a token, and the space before it
 * is one too. Fitted to the counts of o200k and cl100k over random hex, base64, digits, UUIDs, tables of numbers and
 * the like (`ratios.test.ts`), so that prose, which has little of all that, stays where it was.
 */
const ADDED = Int32Array.of(
  // lower, upper, digit, space, punctuation, other, -, -
  ...[0, 45, 45, 0, 13, 0, 0, 0],
  ...[29, 19, 45, 0, 28, 0, 0, 0],
  ...[31, 31, 2, 4, 34, 0, 0, 0],
  ...[0, 0, 88, 0, 19, 0, 0, 0],
  ...[19, 34, 44, 4, 32, 0, 0, 0],
  ...[0, 0, 44, 0, 0, 0, 0, 0],
);
const TOKEN = 64;

/** Few words are longer; what is takes more tokens a letter than words do. */
const WORD_LETTERS = 10;
const LETTER_ADDED = 20;

/** Longer texts are looked at in places: all of a text costs as much as parsing it. */
const WHOLE_CHARACTERS_MAX = 144;
const PLACE_CHARACTERS = 48;
const PLACES_MIN = 3;
const CHARACTERS_PER_PLACE = 1024;

const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOf(code));

/** Tokens that a text takes beyond those of prose of its length: numbers, base64, code and the like. */
export function densityTokens(text: string): number {
  const { length } = text;
  if (length <= WHOLE_CHARACTERS_MAX) return added(text, 0, length) / TOKEN;
  const places = Math.max(PLACES_MIN, Math.ceil(length / CHARACTERS_PER_PLACE));
  const stride = (length - PLACE_CHARACTERS) / (places - 1);
  let sum = 0;
  for (let place = 0; place < places; place++) {
    const from = Math.floor(place * stride);
    sum += added(text, from, from + PLACE_CHARACTERS);
  }
  return (sum / TOKEN / (places * PLACE_CHARACTERS)) * length;
}

/**
 * Taken out of the prototype once: V8 has a dozen kinds of strings, and where it has seen more than four of them it
 * looks a method of theirs up at each call, which makes this loop four times as slow.
 */
const { charCodeAt } = String.prototype;

function added(text: string, from: number, to: number): number {
  let sum = 0;
  let before = OTHER;
  let letters = 0;
  for (let at = from; at < to; at++) {
    const code = charCodeAt.call(text, at);
    const kind = code < 128 ? (KINDS[code] ?? OTHER) : OTHER;
    sum += ADDED[before * 8 + kind] ?? 0;
    letters = kind === LOWER ? letters + 1 : 0;
    if (letters > WORD_LETTERS) sum += LETTER_ADDED;
    before = kind;
  }
  return sum;
}

function kindOf(code: number): number {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[0-9]/.test(character)) return DIGIT;
  return code <= 32 || code === 127 ? SPACE : PUNCTUATION;
}
