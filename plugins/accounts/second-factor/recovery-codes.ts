import { hashOf } from "../secret.ts";
import { randomBase32 } from "./base32.ts";

const CODES = 10;
/** 80 random bits: a hash of them without a salt cannot be guessed. */
const CHARACTERS = 16;
const GROUP = /.{4}(?=.)/g;

/** Returns new recovery codes, such as `k3vq-77ab-zzr2-o4hd`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () =>
    randomBase32(CHARACTERS).toLowerCase().replace(GROUP, "$&-"),
  );
}

/**
 * Returns the hash of a recovery code that the database stores. It is the same however its owner
 * types the code.
 */
export function recoveryHashOf(accountId: string, code: string): Buffer {
  return hashOf(`${accountId} ${code.toLowerCase().replace(/[^a-z2-7]/g, "")}`);
}
