import { randomBytes } from "node:crypto";

const POOL_BYTES = 8_192;
/** Random hexadecimal digits in one id: 18 digits of 4 bits, and 2 bits in the variant digit, are 74 bits. */
const DIGITS = 19;

/** Random hexadecimal text, generated for 862 ids at a time: the conversion is most of the cost of an id. */
let pool = "";
let poolOffset = 0;
let lastMs = -1;
let lastTime = "";

/**
 * Returns a new UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits. Ids sort by
 * time, so inserts into a busy table stay at the right edge of its primary key index.
 */
export function newId(now: number): string {
  if (poolOffset + DIGITS > pool.length) {
    pool = randomBytes(POOL_BYTES).toString("hex");
    poolOffset = 0;
  }
  if (now !== lastMs) {
    const time = now.toString(16).padStart(12, "0");
    lastMs = now;
    lastTime = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  }
  const at = poolOffset;
  poolOffset += DIGITS;
  const variant = VARIANTS[pool.charCodeAt(at) & 3];
  return `${lastTime}${pool.slice(at + 1, at + 4)}-${variant}${pool.slice(at + 4, at + 7)}-${pool.slice(at + 7, at + DIGITS)}`;
}

/** Returns true if `text` is a lower-case UUID. Postgres rejects a whole statement for any other text. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** Returns when an id was created, in milliseconds since the Unix epoch. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

const VARIANTS = ["8", "9", "a", "b"] as const;

/** An id before all others, at which a reading in pages begins. */
export const FIRST_ID = "00000000-0000-0000-0000-000000000000";
