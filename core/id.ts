import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;
const pool = Buffer.allocUnsafe(POOL_BYTES);
let poolOffset = POOL_BYTES;

/**
 * A UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits.
 * Ordered by time, so that the primary keys of a busy table stay at the right edge of the index.
 */
export function newId(now: number): string {
  if (poolOffset + 10 > POOL_BYTES) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const time = now.toString(16).padStart(12, "0");
  const random = pool.toString("hex", poolOffset, poolOffset + 10);
  const variant = ((pool[poolOffset + 9] ?? 0) & 0x3) | 0x8;
  poolOffset += 10;
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-` +
    `${variant.toString(16)}${random.slice(3, 6)}-${random.slice(6, 18)}`
  );
}
