import { randomInt } from "node:crypto";

/** Digits and letters that are hard to confuse: without 0 O, 1 I L, 2 Z, 5 S, 8 B. */
const ALPHABET = "34679ACDEFGHJKMNPQRTUVWXY";
/** 25^8 = 150 billion codes, so that neither a second order nor a typing error hits an existing code. */
const RANDOM_CHARACTERS = 8;
/** Maximum text of a transfer that is searched: longer than at any bank. */
const TEXT_CHARACTERS_MAX = 2_000;

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
    const plain = text
      .slice(0, TEXT_CHARACTERS_MAX)
      .normalize("NFKC")
      .toUpperCase()
      .replace(/[^A-Z0-9]/g, "");
    for (const [, code = ""] of plain.matchAll(form)) found.add(code);
  }
  return [...found];
}
