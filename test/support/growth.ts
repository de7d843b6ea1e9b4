/** A list that is this many times as long may take three times as much more: a loop in a loop takes the square. */
const LONGER = 8;
const MARGIN = 3;
/** Shorter times say nothing, in microseconds. */
const MICROS_MIN = 2_000;
const TRIES = 5;

/**
 * Returns true if the processor time of `prepare(size)()` grows with the size, and not with its square. The shortest of some
 * tries counts, since memory is collected in some.
 */
export function isLinear(size: number, prepare: (size: number) => () => void): boolean {
  const shortest = (entries: number) => {
    let least = Number.POSITIVE_INFINITY;
    for (let left = TRIES; left > 0; left--) {
      const work = prepare(entries);
      const from = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(from);
      least = Math.min(least, user + system);
    }
    return least;
  };
  const ofShort = Math.max(MICROS_MIN, shortest(size / LONGER));
  return shortest(size) < LONGER * MARGIN * ofShort;
}
