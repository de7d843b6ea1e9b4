/** A small seeded generator (mulberry32), so that the printed seed repeats a run. */
export class Random {
  readonly seed: number;
  private state: number;

  constructor(seed: number) {
    this.seed = seed >>> 0;
    this.state = this.seed;
  }

  /** Takes the seed from the variable `SEED` if it is set, else from the clock, and prints it. */
  static printed(): Random {
    const random = new Random(Number(process.env["SEED"] ?? Date.now() % 1_000_000_007));
    console.log(`# SEED=${random.seed} repeats this run`);
    return random;
  }

  /** From 0 up to, but not including, 1. */
  fraction(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to, but not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  pick<T>(from: readonly [T, ...T[]] | readonly T[]): T {
    const value = from[this.below(from.length)];
    if (value === undefined) throw new Error("nothing to pick from");
    return value;
  }

  chance(share: number): boolean {
    return this.fraction() < share;
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }
}
