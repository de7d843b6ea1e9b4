/** A list that is this many times as long may take three times as much more: a loop in a loop takes the square. */
const LONGER = 8;
const MARGIN = 3;
/** Shorter times say nothing. */
const MS_MIN = 2;
const TRIES = 5;

/**
 * Returns true if the time of `prepare(size)()` grows with the size, and not with its square. The shortest of some tries
 * counts, since other processes want the processor too.
 */
export function isLinear(size: number, prepare: (size: number) => () => void): boolean {
  const shortest = (entries: number) => {
    let leastMs = Number.POSITIVE_INFINITY;
    for (let left = TRIES; left > 0; left--) {
      const work = prepare(entries);
      const from = performance.now();
      work();
      leastMs = Math.min(leastMs, performance.now() - from);
    }
    return leastMs;
  };
  const ofShort = Math.max(MS_MIN, shortest(size / LONGER));
  return shortest(size) < LONGER * MARGIN * ofShort;
}
