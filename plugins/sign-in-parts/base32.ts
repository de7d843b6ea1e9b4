import { randomBytes } from "node:crypto";

/** RFC 4648. It has neither 0 nor 1, which people confuse with O and I. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BITS = 5;

/** Returns random text of base32. Each character has 5 random bits. */
export function randomBase32(characters: number): string {
  return Array.from(randomBytes(characters), (byte) => ALPHABET[byte & 31]).join("");
}

/** Decodes base32 without padding. Throws if the text is not base32. */
export function bytesOfBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let bitCount = 0;
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value === -1) throw new Error("not base32");
    bits = ((bits << BITS) | value) & 0xfff;
    bitCount += BITS;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes.push((bits >> bitCount) & 0xff);
  }
  return Buffer.from(bytes);
}
