import { randomBytes } from "node:crypto";

const POOL_BYTES = 8_192;
/** Hexadecimal digits of randomness in one id: 74 bits, the last two of them in the variant's digit. */
const DIGITS = 19;

/** Random digits, made many at a time: hexadecimal text is what an id needs, and making it costs the most. */
let pool = "";
let poolOffset = 0;
let lastMs = -1;
let lastTime = "";

/**
 * A UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits.
 * Ordered by time, so that the primary keys of a busy table stay at the right edge of the index.
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

/** True for text that can be an id: Postgres rejects the whole statement for any other. Ids have lower case only. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** The milliseconds since the Unix epoch that an id was made at. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

const VARIANTS = ["8", "9", "a", "b"] as const;
