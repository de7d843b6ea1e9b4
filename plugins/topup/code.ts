import { randomInt } from "node:crypto";

/** Digits and letters that nobody takes for one another: without 0 O, 1 I L, 2 Z, 5 S, 8 B. */
const ALPHABET = "34679ACDEFGHJKMNPQRTUVWXY";
/** 25^8 codes: 150 billion, so that neither two orders nor a typing error and an order meet. */
const RANDOM_CHARACTERS = 8;
/** Longer than any bank lets a transfer's text be. */
const TEXT_CHARACTERS_MAX = 2_000;

/** A new order's code: the prefix and eight random characters. */
export function newCode(prefix: string): string {
  let code = prefix;
  for (let n = 0; n < RANDOM_CHARACTERS; n++) code += ALPHABET[randomInt(ALPHABET.length)];
  return code;
}

/**
 * Everything in the texts of a transfer that could be an order's code. Banks change letters to capitals or
 * back, put spaces, dots and dashes anywhere, and glue their own text to both sides; so all that is neither
 * letter nor digit is left out, and a code may begin at any place. Whether one of them is an order's, its
 * table says.
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
