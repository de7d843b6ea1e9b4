import { randomInt } from "node:crypto";

/** Digits and letters that are hard to confuse: without 0 O, 1 I L, 2 Z, 5 S, 8 B. */
const ALPHABET = "34679ACDEFGHJKMNPQRTUVWXY";
/** 25^8 = 150 billion codes, so that neither a second order nor a typing error hits an existing code. */
const RANDOM_CHARACTERS = 8;
/** Maximum text of a transfer that is searched: longer than at any bank. */
const TEXT_CHARACTERS_MAX = 2_000;
/** Maximum text that is searched for mistyped codes. */
const NEAR_CHARACTERS_MAX = 300;

/** Returns a new order code: the prefix and eight random characters. */
export function newCode(prefix: string): string {
  let code = prefix;
  for (let n = 0; n < RANDOM_CHARACTERS; n++) code += ALPHABET[randomInt(ALPHABET.length)];
  return code;
}

/**
 * Returns all possible order codes in the texts of a transfer. Banks change the case, insert spaces, dots and dashes,
 * and add their own text on both sides. So this ignores all but letters and digits, and a code may start anywhere. The
 * caller looks the codes up.
 */
export function codesIn(texts: readonly string[], prefix: string): string[] {
  const found = new Set<string>();
  const form = new RegExp(`(?=(${prefix}[${ALPHABET}]{${RANDOM_CHARACTERS}}))`, "g");
  for (const text of texts) {
    for (const [, code = ""] of plainOf(text).matchAll(form)) found.add(code);
  }
  return [...found];
}

/**
 * Returns all codes that differ by one letter from what a text has after the prefix: another one, one too many, one left
 * out, or two in the wrong order. Thousands at most; the caller looks them up.
 */
export function codesNear(text: string, prefix: string): string[] {
  const plain = plainOf(text.slice(0, NEAR_CHARACTERS_MAX));
  const found = new Set<string>();
  for (let at = plain.indexOf(prefix); at >= 0; at = plain.indexOf(prefix, at + 1)) {
    const rest = plain.slice(at + prefix.length, at + prefix.length + RANDOM_CHARACTERS + 1);
    for (const near of changedOnce(rest)) {
      if (isRandomPart(near)) found.add(prefix + near);
    }
  }
  return [...found];
}

/** Yields texts of the length of a code's random part, which differ from the beginning of `rest` by one letter. */
function* changedOnce(rest: string): Generator<string> {
  for (let at = 0; at < RANDOM_CHARACTERS; at++) {
    const [before, letter = "", next = ""] = [rest.slice(0, at), rest[at], rest[at + 1]];
    yield before + rest.slice(at + 1, RANDOM_CHARACTERS + 1);
    yield (before + next + letter + rest.slice(at + 2)).slice(0, RANDOM_CHARACTERS);
    for (const other of ALPHABET) {
      yield (before + other + rest.slice(at + 1)).slice(0, RANDOM_CHARACTERS);
      yield (before + other + rest.slice(at)).slice(0, RANDOM_CHARACTERS);
    }
  }
}

function isRandomPart(text: string): boolean {
  return (
    text.length === RANDOM_CHARACTERS && [...text].every((letter) => ALPHABET.includes(letter))
  );
}

function plainOf(text: string): string {
  return text
    .slice(0, TEXT_CHARACTERS_MAX)
    .normalize("NFKC")
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "");
}
