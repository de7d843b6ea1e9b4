/** Kinds of ASCII characters. All other characters are OTHER, since they are counted by their bytes. */
const LOWER = 0;
const UPPER = 1;
const DIGIT = 2;
const SPACE = 3;
const PUNCTUATION = 4;
const OTHER = 5;

/**
 * Tokens that a character adds beyond its share of a word, in 1/64 token, by the kind of the character before it (row)
 * and its own (column). Lower-case words add nothing; a digit after another kind starts a token, and so does the space
 * before it. Fitted to o200k and cl100k on random hex, base64, digits, UUIDs and tables of numbers (`ratios.test.ts`).
 * Prose has few of these, so its estimate hardly changes.
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

/** Few words are longer than this. Longer runs of letters take more tokens per letter. */
const WORD_LETTERS = 10;
const LETTER_ADDED = 20;

/** Maximum length of a text that is read whole: reading it costs as much as parsing it, so longer ones are sampled. */
const WHOLE_CHARACTERS_MAX = 144;
const PLACE_CHARACTERS = 48;
const PLACES_MIN = 3;
const CHARACTERS_PER_PLACE = 1024;

const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOf(code));

/** Returns the tokens of a text beyond those of prose of the same length, as in numbers, base64 or code. */
export function densityTokens(text: string): number {
  const { length } = text;
  if (length <= WHOLE_CHARACTERS_MAX) return added(text, 0, length) / TOKEN;
  const places = placesIn(length);
  const stride = (length - PLACE_CHARACTERS) / (places - 1);
  let sum = 0;
  for (let place = 0; place < places; place++) {
    const from = Math.floor(place * stride);
    sum += added(text, from, from + PLACE_CHARACTERS);
  }
  return tokensOf(sum, places, length);
}

const placesIn = (length: number) => Math.max(PLACES_MIN, Math.ceil(length / CHARACTERS_PER_PLACE));

/** Returns the tokens of a text of this length, of which these places were read. */
const tokensOf = (sum: number, places: number, length: number) =>
  (sum / TOKEN / (places * PLACE_CHARACTERS)) * length;

/**
 * Taken from the prototype once: V8 has a dozen kinds of strings, and after more than four of them it looks the method up
 * at each call, which makes this loop four times slower.
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
