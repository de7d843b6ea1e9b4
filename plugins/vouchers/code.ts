import { createHash, randomBytes } from "node:crypto";

/** Crockford's base32: it has no I, L, O and U, so that a person can read a code out. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 100 random bits. Operators and the ledger see the first four characters; 80 bits stay secret. */
const CHARACTERS = 20;
const SHOWN = 4;
const GROUP = /.{4}(?=.)/g;

interface VoucherCode {
  /** As it is printed: `7K2M-…`. */
  readonly code: string;
  readonly prefix: string;
  /** In hexadecimal digits. */
  readonly hash: string;
}

/** Returns a random code. */
export function newVoucherCode(): VoucherCode {
  const plain = Array.from(randomBytes(CHARACTERS), (byte) => ALPHABET[byte & 31]).join("");
  const hash = hashOf(plain).toString("hex");
  return { code: plain.replace(GROUP, "$&-"), prefix: plain.slice(0, SHOWN), hash };
}

/** Returns the hash of a code as a customer types it; undefined if no code looks like it. */
export function voucherHash(typed: string): Buffer | undefined {
  const characters = typed.toUpperCase().replace(/[^0-9A-Z]/g, "");
  const plain = characters.replace(/O/g, "0").replace(/[IL]/g, "1");
  return /^[0-9A-HJKMNP-TV-Z]{20}$/.test(plain) ? hashOf(plain) : undefined;
}

function hashOf(plain: string): Buffer {
  return createHash("sha256").update(`voucher ${plain}`).digest();
}
