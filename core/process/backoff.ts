/**
 * Returns the delay before the next try, in ms: `minMs` after the first of `failures` in a row, then twice as long
 * after each, at most `maxMs`.
 */
export function backoffMs(failures: number, minMs: number, maxMs: number): number {
  return Math.min(maxMs, minMs * 2 ** Math.max(0, failures - 1));
}
