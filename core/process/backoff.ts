/**
 * How long to wait after so many failures in a row: `minMs` after the first, twice as long after each further one,
 * never longer than `maxMs`.
 */
export function backoffMs(failures: number, minMs: number, maxMs: number): number {
  return Math.min(maxMs, minMs * 2 ** Math.max(0, failures - 1));
}
